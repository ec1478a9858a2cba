import { elementOf } from './elements.js';
import { wireKeyboard } from './keyboard.js';
import { liftCaptions, wireScrubTip } from './scrub-tip.js';
import { marksOf, timelineOf } from './timeline.js';

// The controls of the stage: play, seek, volume and full screen. They use only the media element, not the player
// library.

/** Controls over the video (full screen) hide after this long without input. */
const idleMs = 2500;

const stage = elementOf('stage', HTMLElement);
const seek = elementOf('seek', HTMLInputElement);
const volume = elementOf('volume', HTMLInputElement);
const playButton = elementOf('play', HTMLButtonElement);
const bigPlayButton = elementOf('big-play', HTMLButtonElement);
const muteButton = elementOf('mute', HTMLButtonElement);
const fullScreenButton = elementOf('fullscreen', HTMLButtonElement);

/**
 * @typedef {import('./scrub-tip.js').ScrubPreview & import('./keyboard.js').MenuActions} ControlActions
 */

/**
 * @param {HTMLVideoElement} video
 * @param {ControlActions} actions
 */
export function wireControls(video, actions) {
  const toggle = () => (video.paused ? void video.play().catch(() => showState()) : video.pause());
  const toggleFullScreen = () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else if ('requestFullscreen' in stage) void stage.requestFullscreen();
    // iPhones support full screen for the video element only.
    else if ('webkitEnterFullscreen' in video && typeof video.webkitEnterFullscreen === 'function')
      video.webkitEnterFullscreen();
  };
  const showState = () => {
    const isPlaying = !video.paused && !video.ended;
    const isWithoutStream = ['empty', 'failed'].includes(stage.dataset['state'] ?? '');
    if (isPlaying || !isWithoutStream) stage.dataset['state'] = isPlaying ? 'playing' : 'paused';
    playButton.setAttribute('aria-label', isPlaying ? 'Pause' : 'Play');
    const isMessageShown = !elementOf('message', HTMLElement).hidden;
    bigPlayButton.hidden = isPlaying || stage.dataset['state'] !== 'paused' || isMessageShown;
  };
  for (const button of [playButton, bigPlayButton]) button.addEventListener('click', toggle);
  video.addEventListener('click', toggle);
  video.addEventListener('dblclick', toggleFullScreen);
  for (const name of ['play', 'playing', 'pause', 'ended', 'emptied']) video.addEventListener(name, showState);
  fullScreenButton.addEventListener('click', toggleFullScreen);
  wireSeekBar(video);
  wireVolume(video);
  wireScrubTip(video, actions);
  wireKeyboard(video, { ...actions, togglePlay: toggle, toggleFullScreen });
  hideWhenIdle();

  return {
    showState,
    /** @param {boolean} isEnabled */
    enable(isEnabled) {
      seek.disabled = !isEnabled;
      playButton.disabled = !isEnabled;
    },
    markChapters: wireMarks(video),
  };
}

/** @param {HTMLVideoElement} video */
function wireSeekBar(video) {
  /** @type {number | null} */
  let scrubTime = null;
  const show = () => {
    const { max, value, played, buffered, now, total, spoken } = timelineOf(video, scrubTime);
    seek.max = max;
    seek.value = value;
    seek.setAttribute('aria-valuetext', spoken);
    seek.style.setProperty('--played', played);
    seek.style.setProperty('--buffered', buffered);
    elementOf('now', HTMLElement).textContent = now;
    elementOf('duration', HTMLElement).textContent = total;
  };
  for (const name of ['timeupdate', 'durationchange', 'progress', 'seeked', 'emptied'])
    video.addEventListener(name, show);
  seek.addEventListener('input', () => {
    scrubTime = Number(seek.value);
    show();
  });
  seek.addEventListener('change', () => {
    scrubTime = null;
    video.currentTime = Number(seek.value);
  });
}

/**
 * Marks the begin of each chapter but the first on the seek bar. The menu has them for who does not see it.
 *
 * @param {HTMLVideoElement} video
 * @returns {(chapters: readonly {from: number}[]) => void}
 */
function wireMarks(video) {
  /** @type {readonly {from: number}[]} */
  let marked = [];
  const show = () =>
    elementOf('marks', HTMLElement).replaceChildren(
      ...marksOf(video, marked).map((left) => {
        const mark = document.createElement('i');
        mark.style.left = left;
        return mark;
      }),
    );
  video.addEventListener('durationchange', show);
  return (chapters) => {
    marked = chapters;
    show();
  };
}

/** @param {HTMLVideoElement} video */
function wireVolume(video) {
  const show = () => {
    muteButton.setAttribute('aria-pressed', String(video.muted || video.volume === 0));
    volume.value = String(video.muted ? 0 : video.volume);
    volume.style.setProperty('--played', `${100 * Number(volume.value)}%`);
  };
  video.addEventListener('volumechange', show);
  muteButton.addEventListener('click', () => (video.muted = !video.muted));
  volume.addEventListener('input', () => {
    video.volume = Number(volume.value);
    video.muted = video.volume === 0;
  });
  show();
}

function sleep() {
  // An open menu is being read.
  if (!elementOf('panel', HTMLElement).hidden) return;
  stage.dataset['idle'] = '';
  liftCaptions();
}

/** Marks the stage as idle after a time without input; style.css then hides controls that lie over the video. */
function hideWhenIdle() {
  /** @type {number | undefined} */
  let timer;
  const wake = () => {
    delete stage.dataset['idle'];
    liftCaptions();
    window.clearTimeout(timer);
    timer = window.setTimeout(sleep, idleMs);
  };
  for (const name of ['pointermove', 'pointerdown', 'keydown', 'focusin', 'fullscreenchange'])
    document.addEventListener(name, wake);
}
