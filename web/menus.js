// The menus of the player: quality, audio, captions, speed and chapters. They lie inside the stage, so that full screen
// has them too. Texts of sources become text nodes and option texts, never markup.

import { clockText } from './controls.js';

const element = (id) => document.getElementById(id);
const speeds = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

export const megabits = (bitsPerSecond) =>
  Number.isFinite(bitsPerSecond) && bitsPerSecond > 0 ? `${(bitsPerSecond / 1e6).toFixed(2)} Mb/s` : '–';

/** `1080p`: the shorter side, also of an upright video; audio alone has none. */
const nameOf = ({ width, height }) => (height ? `${Math.min(width, height)}p` : 'Audio');

function trackText({ language, label }) {
  const names = new Intl.DisplayNames(undefined, { type: 'language', fallback: 'code' });
  const spoken = language === '' || language === 'und' ? 'Unknown language' : names.of(language);
  return !label || label === language || label === spoken ? spoken : `${spoken} · ${label}`;
}

/** Keeps the options when the choices are unchanged, so that an open list stays open. */
function fill(select, choices) {
  const text = JSON.stringify(choices);
  if (select.dataset.shown === text) {
    // The viewer chose another one, which is not the case.
    const chosen = choices.find(({ isChosen }) => isChosen)?.id ?? select.value;
    if (select.value !== chosen) select.value = chosen;
    return;
  }
  select.dataset.shown = text;
  select.replaceChildren(
    ...choices.map(({ id, text: label, isChosen, isDisabled = false }) =>
      Object.assign(new Option(label, id, isChosen, isChosen), { disabled: isDisabled }),
    ),
  );
}

/**
 * @param video the media element
 * @param currentEngine returns the engine that plays, or null
 */
export function createMenus(video, currentEngine) {
  /** Every quality that the stream has had, by id: players drop those that fail or are too slow for a while. */
  let knownQualities = new Map();
  /** The captions that were shown last, for the key that shows them again; null before. */
  let lastCaptions = null;
  let chapters = [];

  const showQualities = (engine) => {
    const current = engine?.qualities() ?? [];
    for (const quality of current) knownQualities.set(quality.id, quality);
    const available = new Set(current.map(({ id }) => id));
    const qualities = [...knownQualities.values()].toSorted((a, b) => b.bandwidth - a.bandwidth);
    const isAutomatic = engine?.isAutomatic() ?? true;
    const active = current.find(({ isActive }) => isActive);
    fill(element('quality'), [
      {
        id: 'auto',
        text: active && isAutomatic ? `Automatic (${nameOf(active)})` : 'Automatic',
        isChosen: isAutomatic,
      },
      ...qualities.map((quality) => ({
        id: quality.id,
        text: [
          nameOf(quality),
          megabits(quality.bandwidth),
          ...(available.has(quality.id) ? [] : ['not available now']),
        ].join(' · '),
        isChosen: !isAutomatic && quality.id === active?.id,
        isDisabled: !available.has(quality.id),
      })),
    ]);
    element('quality').disabled = qualities.length === 0;
  };
  const showAudio = (engine) => {
    const audio = engine?.audioTracks() ?? [];
    const choices = audio.map((track) => ({ id: track.id, text: trackText(track), isChosen: track.isActive }));
    fill(element('audio'), audio.length === 0 ? [{ id: '', text: 'None', isChosen: true }] : choices);
    element('audio').disabled = audio.length < 2;
  };
  const showCaptions = (engine) => {
    const texts = engine?.textTracks() ?? [];
    const shown = texts.find(({ isActive }) => isActive);
    lastCaptions = shown?.id ?? lastCaptions;
    fill(element('captions'), [
      { id: 'off', text: texts.length === 0 ? 'None' : 'Off', isChosen: shown === undefined },
      ...texts.map((track) => ({ id: track.id, text: trackText(track), isChosen: track.isActive })),
    ]);
    element('captions').disabled = texts.length === 0;
    element('captions-toggle').hidden = texts.length === 0;
    element('captions-toggle').setAttribute('aria-pressed', String(shown !== undefined));
  };
  const chapterAt = (time) => chapters.findLast(({ from }) => time >= from) ?? null;
  const showChapters = () => {
    const current = chapterAt(video.currentTime);
    element('chapter-field').hidden = chapters.length === 0;
    fill(
      element('chapter'),
      chapters.map((chapter) => ({
        id: String(chapter.from),
        text: `${clockText(chapter.from)} ${chapter.title}`,
        isChosen: chapter === current,
      })),
    );
  };
  const showSpeed = () =>
    fill(
      element('speed'),
      speeds.map((speed) => ({ id: String(speed), text: `${speed} ×`, isChosen: speed === video.defaultPlaybackRate })),
    );
  // `defaultPlaybackRate` is what a newly loaded stream begins with; players set `playbackRate` to 0 while they wait.
  const setSpeed = (speed) => {
    video.defaultPlaybackRate = speed;
    video.playbackRate = speed;
    showSpeed();
  };
  const toggleCaptions = () => {
    const tracks = currentEngine()?.textTracks() ?? [];
    const isShown = tracks.some(({ isActive }) => isActive);
    const preferred = tracks.find(({ language }) => navigator.language.split('-')[0] === language) ?? tracks[0];
    if (tracks.length > 0) currentEngine().selectText(isShown ? 'off' : (lastCaptions ?? preferred.id));
  };

  element('quality').addEventListener('change', () => currentEngine()?.selectQuality(element('quality').value));
  element('audio').addEventListener('change', () => currentEngine()?.selectAudio(element('audio').value));
  element('captions').addEventListener('change', () => currentEngine()?.selectText(element('captions').value));
  element('captions-toggle').addEventListener('click', toggleCaptions);
  element('speed').addEventListener('change', () => setSpeed(Number(element('speed').value)));
  element('chapter').addEventListener('change', () => (video.currentTime = Number(element('chapter').value)));
  video.addEventListener('timeupdate', showChapters);
  const panel = wirePanel();
  wirePictureInPicture(video);
  showSpeed();
  showChapters();

  const show = () => {
    const engine = currentEngine();
    showQualities(engine);
    showAudio(engine);
    showCaptions(engine);
  };
  /** The next slower or faster speed. */
  const changeSpeed = (steps) => {
    const index = speeds.indexOf(video.defaultPlaybackRate) + steps;
    setSpeed(speeds[Math.min(speeds.length - 1, Math.max(0, index))]);
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

/** Opens and closes the panel of menus: by its button, and closed by Escape and by a click elsewhere. */
function wirePanel() {
  const [button, panel] = [element('settings'), element('panel')];
  const set = (isOpen) => {
    panel.hidden = !isOpen;
    button.setAttribute('aria-expanded', String(isOpen));
  };
  const toggle = () => {
    set(panel.hidden);
    if (!panel.hidden) panel.querySelector('select:enabled')?.focus();
  };
  button.addEventListener('click', toggle);
  document.addEventListener('pointerdown', ({ target }) => {
    if (!panel.hidden && !panel.contains(target) && !button.contains(target)) set(false);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden) return;
    // The first Escape closes the panel alone, and not full screen.
    event.preventDefault();
    set(false);
    button.focus();
  });
  return { toggle };
}

function wirePictureInPicture(video) {
  const button = element('picture-in-picture');
  button.hidden = !document.pictureInPictureEnabled;
  button.addEventListener('click', () => {
    const change = document.pictureInPictureElement ? document.exitPictureInPicture() : video.requestPictureInPicture();
    // The browser refuses before there is a frame.
    change.catch(() => undefined);
  });
}
