import { readFragment, readPick, waveformAddress, writeFragment } from './addresses.js';
import { bufferedAhead, wireControls } from './controls.js';
import { createHlsEngine } from './hls-engine.js';
import { PlaybackProblem } from './problems.js';
import { createShakaEngine } from './shaka-engine.js';

// The page: reads the input from the fragment, plays the stream, and shows problems.

/**
 * The two players have one interface: `load()`, `qualities()`, `isAutomatic()`, `selectQuality(id | 'auto')`,
 * `audioTracks()`, `selectAudio(id)`, `textTracks()`, `selectText(id | 'off')`, `figures()`, `pictureAt(time)`,
 * `destroy()`. They call `onChange` when tracks change, and `onProblem` for failures after loading; `load` throws.
 */
const engines = {
  shaka: createShakaEngine,
  hls: createHlsEngine,
  dash: (video, input) => createShakaEngine(video, { ...input, isDash: true }),
};

const recentKey = 'reelwright.recent';
const element = (id) => document.getElementById(id);
const video = element('video');
let engine = null;
/** Every quality that the current stream has had, by id: players drop those that fail or are too slow for a while. */
let knownQualities = new Map();
/** The captions that were shown last, for the key that shows them again; null before. */
let lastCaptions = null;
/** Number of the current playback: results of earlier ones are ignored. */
let generation = 0;

const controls = wireControls(video, {
  pictureAt: async (time) => (await engine?.pictureAt(time)) ?? null,
  toggleCaptions() {
    const tracks = engine?.textTracks() ?? [];
    const isShown = tracks.some(({ isActive }) => isActive);
    if (tracks.length > 0) engine.selectText(isShown ? 'off' : (lastCaptions ?? tracks[0].id));
  },
});

async function play() {
  const mine = (generation += 1);
  const { hash, token, engine: name, poster } = readFragment();
  const before = engine;
  engine = null;
  await before?.destroy();
  if (mine !== generation) return;
  showChoice({ hash, token, name, poster });
  if (hash === '') return;
  const onProblem = (problem) => {
    if (mine === generation) fail(problem);
  };
  const next = engines[name](video, { hash, token, onChange: showTracks, onProblem });
  engine = next;
  element('spinner').hidden = false;
  try {
    await next.load();
  } catch (error) {
    onProblem(error);
    return;
  }
  if (mine !== generation) return;
  element('spinner').hidden = true;
  element('stage').dataset.state = 'paused';
  controls.enable(true);
  if (poster === '' && next.qualities().every(({ height }) => !height)) video.poster = waveformAddress(hash);
  remember(hash);
  showTracks();
  // Browsers may require a click first: the big button stays then.
  await video.play().catch(() => undefined);
  controls.showState();
}

function showChoice({ hash, token, name, poster }) {
  knownQualities = new Map();
  lastCaptions = null;
  video.poster = poster;
  document.title = hash === '' ? 'Reelwright player' : `${hash} · Reelwright player`;
  element('title').textContent = hash === '' ? 'No stream selected' : hash;
  element('pick').value = hash;
  element('token').value = token;
  element('engine').value = name;
  element('message').hidden = true;
  delete element('message').dataset.kind;
  element('stage').dataset.state = 'empty';
  controls.enable(false);
  controls.showState();
  showTracks();
  if (hash === '')
    showMessage(
      new PlaybackProblem({
        kind: 'nothing',
        title: 'No stream selected',
        text: 'Enter a media hash below, or open the player link that the demo prints.',
      }),
    );
}

/** Shows the problem and destroys the player, so that it sends no further requests. */
function fail(problem) {
  generation += 1;
  const broken = engine;
  engine = null;
  element('spinner').hidden = true;
  element('stage').dataset.state = 'failed';
  controls.enable(false);
  controls.showState();
  showMessage(
    problem instanceof PlaybackProblem
      ? problem
      : new PlaybackProblem({ kind: 'page', title: 'The page failed', text: String(problem) }),
  );
  void broken?.destroy();
  showTracks();
}

function showMessage({ kind, title, message, actions }) {
  element('message-title').textContent = title;
  element('message-text').textContent = message;
  element('message').dataset.kind = kind;
  for (const action of ['retry', 'other-player', 'enter-token']) element(action).hidden = !actions.includes(action);
  element('message').hidden = false;
  element('big-play').hidden = true;
}

const megabits = (bitsPerSecond) =>
  Number.isFinite(bitsPerSecond) && bitsPerSecond > 0 ? `${(bitsPerSecond / 1e6).toFixed(2)} Mb/s` : '–';

function showTracks() {
  const current = engine?.qualities() ?? [];
  for (const quality of current) knownQualities.set(quality.id, quality);
  const available = new Set(current.map(({ id }) => id));
  const qualities = [...knownQualities.values()].toSorted((a, b) => b.bandwidth - a.bandwidth);
  const isAutomatic = engine?.isAutomatic() ?? true;
  const active = current.find(({ isActive }) => isActive);
  fill(element('quality'), [
    { id: 'auto', text: active && isAutomatic ? `Automatic (${nameOf(active)})` : 'Automatic', isChosen: isAutomatic },
    ...qualities.map((quality) => ({
      id: quality.id,
      text: `${nameOf(quality)} · ${megabits(quality.bandwidth)}${available.has(quality.id) ? '' : ' · not available now'}`,
      isChosen: !isAutomatic && quality.id === active?.id,
      isDisabled: !available.has(quality.id),
    })),
  ]);
  const audio = engine?.audioTracks() ?? [];
  fill(
    element('audio'),
    audio.length === 0
      ? [{ id: '', text: 'None', isChosen: true }]
      : audio.map((track) => ({ id: track.id, text: trackText(track), isChosen: track.isActive })),
  );
  const texts = engine?.textTracks() ?? [];
  const shownText = texts.find(({ isActive }) => isActive);
  lastCaptions = shownText?.id ?? lastCaptions;
  fill(element('captions'), [
    { id: 'off', text: texts.length === 0 ? 'None' : 'Off', isChosen: shownText === undefined },
    ...texts.map((track) => ({ id: track.id, text: trackText(track), isChosen: track.isActive })),
  ]);
  element('captions').disabled = texts.length === 0;
  element('quality').disabled = qualities.length === 0;
  element('audio').disabled = audio.length < 2;
}

/** `1080p`: the shorter side, also of an upright video; sound alone has none. */
const nameOf = ({ width, height }) => (height ? `${Math.min(width, height)}p` : 'Sound');

function trackText({ language, label }) {
  const names = new Intl.DisplayNames(undefined, { type: 'language', fallback: 'code' });
  const spoken = language === '' || language === 'und' ? 'Unknown language' : names.of(language);
  return !label || label === language || label === spoken ? spoken : `${spoken} · ${label}`;
}

/** Does nothing when the choices are unchanged, so that an open list stays open. */
function fill(select, choices) {
  const text = JSON.stringify(choices);
  if (select.dataset.shown === text) return;
  select.dataset.shown = text;
  select.replaceChildren(
    ...choices.map(({ id, text: label, isChosen, isDisabled = false }) =>
      Object.assign(new Option(label, id, isChosen, isChosen), { disabled: isDisabled }),
    ),
  );
}

function showFigures() {
  const figures = engine?.figures();
  const { totalVideoFrames = 0, droppedVideoFrames = 0 } = video.getVideoPlaybackQuality?.() ?? {};
  element('figure-size').textContent = video.videoWidth > 0 ? `${video.videoWidth} × ${video.videoHeight}` : '–';
  element('figure-bitrate').textContent = megabits(figures?.bitrate);
  element('figure-network').textContent = megabits(figures?.network);
  element('figure-buffer').textContent = engine ? `${bufferedAhead(video).toFixed(1)} s` : '–';
  element('figure-dropped').textContent = engine ? `${droppedVideoFrames} of ${totalVideoFrames}` : '–';
  element('figure-encryption').textContent = figures?.encryption ?? '–';
}

/** Stores hashes only, never a token. */
function remember(hash) {
  const hashes = [hash, ...recentHashes().filter((known) => known !== hash)].slice(0, 12);
  try {
    localStorage.setItem(recentKey, JSON.stringify(hashes));
  } catch {
    // The browser stores nothing: playback works without.
  }
  showRecent(hashes);
}

function recentHashes() {
  try {
    const hashes = JSON.parse(localStorage.getItem(recentKey) ?? '[]');
    return Array.isArray(hashes) ? hashes.filter((hash) => typeof hash === 'string') : [];
  } catch {
    return [];
  }
}

function showRecent(hashes) {
  element('recent').replaceChildren(...hashes.map((hash) => new Option(hash, hash)));
}

element('picker').addEventListener('submit', (event) => {
  event.preventDefault();
  const picked = readPick(element('pick').value);
  element('picker-fault').hidden = !picked.fault;
  element('picker-fault').textContent = picked.fault ?? '';
  if (picked.fault) return;
  writeFragment({ hash: picked.hash, token: element('token').value.trim(), engine: element('engine').value });
  element('stage').scrollIntoView({ block: 'nearest' });
});
element('engine').addEventListener('change', () => {
  const { hash, token } = readFragment();
  if (hash !== '') writeFragment({ hash, token, engine: element('engine').value });
});
element('retry').addEventListener('click', () => void play());
element('other-player').addEventListener('click', () => {
  const { hash, token, engine: name } = readFragment();
  writeFragment({ hash, token, engine: name === 'hls' ? 'shaka' : 'hls' });
});
element('enter-token').addEventListener('click', () => element('token').focus());
window.addEventListener('online', () => {
  if (element('message').dataset.kind?.endsWith('-unreachable')) void play();
});
element('quality').addEventListener('change', () => engine?.selectQuality(element('quality').value));
element('audio').addEventListener('change', () => engine?.selectAudio(element('audio').value));
element('captions').addEventListener('change', () => engine?.selectText(element('captions').value));
video.addEventListener('waiting', () => (element('spinner').hidden = engine === null));
for (const name of ['playing', 'canplay', 'pause'])
  video.addEventListener(name, () => (element('spinner').hidden = true));
window.addEventListener('hashchange', () => void play());
setInterval(showFigures, 500);
showRecent(recentHashes());
void play();
