// The menus of the player: quality, audio, captions, speed and chapters. They lie inside the stage, so that full screen
// has them too. Texts of sources become text nodes and option texts, never markup.

import { elementOf } from './elements.js';
import { rateText } from './figures.js';
import { wireCast, wirePanel, wirePictureInPicture } from './panel.js';
import { clockText } from './timeline.js';

/**
 * @typedef {import('./stream-player.js').StreamPlayer} StreamPlayer
 * @typedef {import('./stream-player.js').Quality} Quality
 * @typedef {import('./stream-player.js').Track} Track
 * @typedef {import('./side-files.js').Chapter} Chapter
 */

const qualityMenu = elementOf('quality', HTMLSelectElement);
const audioMenu = elementOf('audio', HTMLSelectElement);
const captionsMenu = elementOf('captions', HTMLSelectElement);
const speedMenu = elementOf('speed', HTMLSelectElement);
const chapterMenu = elementOf('chapter', HTMLSelectElement);
const captionsButton = elementOf('captions-toggle', HTMLButtonElement);
const speeds = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

/**
 * `1080p`: the shorter side, also of an upright video; audio alone has none.
 *
 * @param {Quality} quality
 */
const nameOf = ({ width, height }) => (height ? `${Math.min(width ?? height, height)}p` : 'Audio');

/** @param {Track} track */
function trackText({ language, label }) {
  const names = new Intl.DisplayNames(undefined, { type: 'language', fallback: 'code' });
  const spoken = language === '' || language === 'und' ? 'Unknown language' : (names.of(language) ?? language);
  return !label || label === language || label === spoken ? spoken : `${spoken} · ${label}`;
}

/**
 * One entry of a menu.
 *
 * @typedef {{id: string, text: string, isChosen: boolean, isDisabled?: boolean}} MenuChoice
 */

/**
 * Keeps the options when the choices are unchanged, so that an open list stays open.
 *
 * @param {HTMLSelectElement} select
 * @param {MenuChoice[]} choices
 */
function fill(select, choices) {
  const text = JSON.stringify(choices);
  if (select.dataset['shown'] === text) {
    // The viewer chose another one, which is not the case.
    const chosen = choices.find(({ isChosen }) => isChosen)?.id ?? select.value;
    if (select.value !== chosen) select.value = chosen;
    return;
  }
  select.dataset['shown'] = text;
  select.replaceChildren(
    ...choices.map(({ id, text: label, isChosen, isDisabled = false }) =>
      Object.assign(new Option(label, id, isChosen, isChosen), { disabled: isDisabled }),
    ),
  );
}

/**
 * @param {HTMLVideoElement} video
 * @param {() => StreamPlayer | null} currentPlayer the player that plays
 */
export function createMenus(video, currentPlayer) {
  /**
   * Every quality that the stream has had, by id: players drop those that fail or are too slow for a while.
   *
   * @type {Map<string, Quality>}
   */
  let knownQualities = new Map();
  /**
   * The captions that were shown last, for the key that shows them again; null before.
   *
   * @type {string | null}
   */
  let lastCaptions = null;
  /** @type {Chapter[]} */
  let chapters = [];

  /** @param {StreamPlayer | null} player */
  const showQualities = (player) => {
    const current = player?.qualities() ?? [];
    for (const quality of current) knownQualities.set(quality.id, quality);
    const available = new Set(current.map(({ id }) => id));
    const qualities = [...knownQualities.values()].toSorted((a, b) => b.bandwidth - a.bandwidth);
    const isAutomatic = player?.isAutomatic() ?? true;
    const active = current.find(({ isActive }) => isActive);
    fill(qualityMenu, [
      {
        id: 'auto',
        text: active && isAutomatic ? `Automatic (${nameOf(active)})` : 'Automatic',
        isChosen: isAutomatic,
      },
      ...qualities.map((quality) => ({
        id: quality.id,
        text: [
          nameOf(quality),
          rateText(quality.bandwidth),
          ...(available.has(quality.id) ? [] : ['not available now']),
        ].join(' · '),
        isChosen: !isAutomatic && quality.id === active?.id,
        isDisabled: !available.has(quality.id),
      })),
    ]);
    qualityMenu.disabled = qualities.length === 0;
  };
  /** @param {StreamPlayer | null} player */
  const showAudio = (player) => {
    const audio = player?.audioTracks() ?? [];
    const choices = audio.map((track) => ({ id: track.id, text: trackText(track), isChosen: track.isActive }));
    fill(audioMenu, audio.length === 0 ? [{ id: '', text: 'None', isChosen: true }] : choices);
    audioMenu.disabled = audio.length < 2;
  };
  /** @param {StreamPlayer | null} player */
  const showCaptions = (player) => {
    const texts = player?.textTracks() ?? [];
    const shown = texts.find(({ isActive }) => isActive);
    lastCaptions = shown?.id ?? lastCaptions;
    fill(captionsMenu, [
      { id: 'off', text: texts.length === 0 ? 'None' : 'Off', isChosen: shown === undefined },
      ...texts.map((track) => ({ id: track.id, text: trackText(track), isChosen: track.isActive })),
    ]);
    captionsMenu.disabled = texts.length === 0;
    captionsButton.hidden = texts.length === 0;
    captionsButton.setAttribute('aria-pressed', String(shown !== undefined));
  };
  /** @param {number} time */
  const chapterAt = (time) => chapters.findLast(({ from }) => time >= from) ?? null;
  const showChapters = () => {
    const current = chapterAt(video.currentTime);
    elementOf('chapter-field', HTMLElement).hidden = chapters.length === 0;
    fill(
      chapterMenu,
      chapters.map((chapter) => ({
        id: String(chapter.from),
        text: `${clockText(chapter.from)} ${chapter.title}`,
        isChosen: chapter === current,
      })),
    );
  };
  const showSpeed = () =>
    fill(
      speedMenu,
      speeds.map((speed) => ({ id: String(speed), text: `${speed} ×`, isChosen: speed === video.defaultPlaybackRate })),
    );
  // `defaultPlaybackRate` is what a newly loaded stream begins with; players set `playbackRate` to 0 while they wait.
  /** @param {number} speed */
  const setSpeed = (speed) => {
    video.defaultPlaybackRate = speed;
    video.playbackRate = speed;
    showSpeed();
  };
  const toggleCaptions = () => {
    const player = currentPlayer();
    const tracks = player?.textTracks() ?? [];
    const isShown = tracks.some(({ isActive }) => isActive);
    const preferred = tracks.find(({ language }) => navigator.language.split('-')[0] === language) ?? tracks[0];
    if (preferred) player?.selectText(isShown ? 'off' : (lastCaptions ?? preferred.id));
  };

  qualityMenu.addEventListener('change', () => currentPlayer()?.selectQuality(qualityMenu.value));
  audioMenu.addEventListener('change', () => currentPlayer()?.selectAudio(audioMenu.value));
  captionsMenu.addEventListener('change', () => currentPlayer()?.selectText(captionsMenu.value));
  captionsButton.addEventListener('click', toggleCaptions);
  speedMenu.addEventListener('change', () => setSpeed(Number(speedMenu.value)));
  chapterMenu.addEventListener('change', () => (video.currentTime = Number(chapterMenu.value)));
  video.addEventListener('timeupdate', showChapters);
  const panel = wirePanel();
  wirePictureInPicture(video);
  wireCast(video, () => currentPlayer()?.figures().encryption === 'none');
  showSpeed();
  showChapters();

  const show = () => {
    const player = currentPlayer();
    showQualities(player);
    showAudio(player);
    showCaptions(player);
  };
  /**
   * The next slower or faster speed.
   *
   * @param {number} steps
   */
  const changeSpeed = (steps) => {
    const index = speeds.indexOf(video.defaultPlaybackRate) + steps;
    setSpeed(speeds[Math.min(speeds.length - 1, Math.max(0, index))] ?? 1);
  };
  return {
    show,
    /** Forgets the stream before. */
    clear() {
      knownQualities = new Map();
      lastCaptions = null;
      chapters = [];
      showChapters();
      show();
    },
    /** @param {Chapter[]} found */
    setChapters(found) {
      chapters = found;
      showChapters();
    },
    chapterAt,
    toggleCaptions,
    togglePanel: panel.toggle,
    changeSpeed,
  };
}
