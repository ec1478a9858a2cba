// The keyboard of the player. One list is both the key bindings and the help that `?` shows.

import { elementOf } from './elements.js';

const help = elementOf('help', HTMLDialogElement);

/**
 * The actions of keys in menus.
 *
 * @typedef {object} MenuActions
 * @property {() => void} toggleCaptions
 * @property {() => void} togglePanel
 * @property {(steps: number) => void} changeSpeed
 */

/** @typedef {MenuActions & {togglePlay: () => void, toggleFullScreen: () => void}} KeyActions */

/**
 * @typedef {object} Binding
 * @property {string[]} keys
 * @property {string} shown
 * @property {string} text
 * @property {(key: string) => void} run
 * @property {boolean} [needsVideo] true by default
 */

/**
 * @param {HTMLVideoElement} video
 * @param {KeyActions} actions
 * @returns {Binding[]}
 */
function bindings(video, { togglePlay, toggleFullScreen, toggleCaptions, togglePanel, changeSpeed }) {
  /** @param {number} seconds */
  const seekBy = (seconds) => (video.currentTime = Math.min(video.duration, Math.max(0, video.currentTime + seconds)));
  /** @param {number} difference */
  const changeVolume = (difference) => {
    video.volume = Math.min(1, Math.max(0, (video.muted ? 0 : video.volume) + difference));
    video.muted = video.volume === 0;
  };
  return [
    { keys: [' ', 'k'], shown: 'Space, k', text: 'Play or pause', run: togglePlay },
    { keys: ['ArrowLeft'], shown: '←', text: '5 seconds back', run: () => seekBy(-5) },
    { keys: ['ArrowRight'], shown: '→', text: '5 seconds forward', run: () => seekBy(5) },
    { keys: ['j'], shown: 'j', text: '10 seconds back', run: () => seekBy(-10) },
    { keys: ['l'], shown: 'l', text: '10 seconds forward', run: () => seekBy(10) },
    { keys: ['Home'], shown: 'Home', text: 'To the beginning', run: () => (video.currentTime = 0) },
    { keys: ['End'], shown: 'End', text: 'To the end', run: () => (video.currentTime = video.duration) },
    {
      keys: '0123456789'.split(''),
      shown: '0 – 9',
      text: 'To 0 % – 90 % of the video',
      run: (key) => (video.currentTime = (Number(key) / 10) * video.duration),
    },
    { keys: ['ArrowUp'], shown: '↑', text: 'Louder', run: () => changeVolume(0.05) },
    { keys: ['ArrowDown'], shown: '↓', text: 'Quieter', run: () => changeVolume(-0.05) },
    { keys: ['m'], shown: 'm', text: 'Mute or unmute', run: () => (video.muted = !video.muted) },
    { keys: ['c'], shown: 'c', text: 'Captions on or off', run: toggleCaptions },
    { keys: ['<'], shown: '<', text: 'Slower', run: () => changeSpeed(-1) },
    { keys: ['>'], shown: '>', text: 'Faster', run: () => changeSpeed(1) },
    { keys: ['s'], shown: 's', text: 'Quality, audio, captions, speed, chapters', run: togglePanel },
    { keys: ['f'], shown: 'f', text: 'Full screen', run: toggleFullScreen },
    { keys: ['?'], shown: '?', text: 'Show this list', run: showHelp, needsVideo: false },
  ];
}

function showHelp() {
  if (!help.open) help.showModal();
}

/**
 * Wires the keys of the whole page. A key that the focused element uses itself is left to it.
 *
 * @param {HTMLVideoElement} video
 * @param {KeyActions} actions
 */
export function wireKeyboard(video, actions) {
  const list = bindings(video, actions);
  elementOf('help-keys', HTMLDListElement).replaceChildren(
    ...list.flatMap(({ shown, text }) => {
      const [key, meaning] = [document.createElement('dt'), document.createElement('dd')];
      key.textContent = shown;
      meaning.textContent = text;
      return [key, meaning];
    }),
  );
  elementOf('help-open', HTMLButtonElement).addEventListener('click', showHelp);
  elementOf('help-close', HTMLButtonElement).addEventListener('click', () => help.close());
  document.addEventListener('keydown', (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const binding = list.find(({ keys }) => keys.includes(key));
    if (!binding || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (usesKey(event.target, key)) return;
    if (binding.needsVideo !== false && !Number.isFinite(video.duration)) return;
    event.preventDefault();
    binding.run(key);
  });
  releaseFocusAfterPointer();
}

/**
 * Whether the focused element has its own use for a key: typing, a list, the button under Space, the volume slider.
 *
 * @param {EventTarget | null} target
 * @param {string} key
 */
function usesKey(target, key) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.id === 'seek') return false;
  if (target.id === 'volume') return key.startsWith('Arrow') || key === 'Home' || key === 'End';
  if (target.matches('button, a')) return key === ' ';
  return target.matches('input, select, textarea');
}

/**
 * A control that was used by mouse or touch gives up the focus, so that Space and the arrow keys work for the video
 * again. Focus that came by the keyboard stays.
 */
function releaseFocusAfterPointer() {
  let isPointer = false;
  const release = () => {
    const focused = document.activeElement;
    if (!isPointer || !(focused instanceof HTMLElement)) return;
    if (focused.matches('button, select, input[type=range]')) focused.blur();
  };
  document.addEventListener('pointerdown', () => (isPointer = true), true);
  document.addEventListener('keydown', () => (isPointer = false), true);
  // A click on a list opens it; its change ends the choice.
  document.addEventListener('click', () => {
    if (!document.activeElement?.matches('select')) release();
  });
  document.addEventListener('change', release);
}
