import { masterAddress, readFragment, readPick, waveformAddress, writeFragment } from './addresses.js';
import { wireControls } from './controls.js';
import { createEmbedding } from './embedding.js';
import { showFigures } from './figures.js';
import { createInterruption } from './interruption.js';
import { createMenus } from './menus.js';
import { PlaybackProblem, unreachableProblem } from './problems.js';
import { remember, showRecent } from './recent.js';
import { captureState, restoreTracks, watchPauses } from './resumption.js';
import { createShakaEngine } from './shaka-engine.js';
import { openSideFiles } from './side-files.js';

// The page: reads the input from the fragment, plays the stream, and shows problems.

const element = (id) => document.getElementById(id);
const video = element('video');
let engine = null;
let sideFiles = null;
/** Number of the current playback: results of earlier ones are ignored. */
let generation = 0;
/**
 * Where a player that was given up has been, as `captureState` returns it, until another one has loaded; null when
 * there is nothing to take over.
 */
let left = null;

const menus = createMenus(video, () => engine);
const controls = wireControls(video, {
  tileAt: async (time) => (await sideFiles?.tileAt(time)) ?? null,
  titleAt: (time) => menus.chapterAt(time)?.title ?? '',
  toggleCaptions: menus.toggleCaptions,
  togglePanel: menus.togglePanel,
  changeSpeed: menus.changeSpeed,
});
const wasPaused = watchPauses(video);
/** A token that the page around sent, which wins over the one of the address; null without one. */
let renewed = null;
const embedding = createEmbedding(video, {
  isEmbedded: () => readFragment().isEmbedded,
  takeToken(token, hash = readFragment().hash) {
    renewed = { hash, token };
    // A player at work uses it for its next key.
    if (engine === null && hash === readFragment().hash) void play();
  },
});

/** The stream and the newest token for it. */
function readChoice() {
  const choice = readFragment();
  return renewed?.hash === choice.hash ? { ...choice, token: renewed.token } : choice;
}

const interruption = createInterruption(video, {
  resume: () => engine?.resume(),
  show: (problem) => void showCause(problem),
  hide: hideMessage,
});

async function play() {
  const mine = (generation += 1);
  const { hash, token, poster } = readChoice();
  const before = engine;
  const from = left?.hash === hash ? left : null;
  left = from;
  engine = null;
  interruption.clear();
  await before?.destroy();
  if (mine !== generation) return;
  showChoice({ hash, token, poster });
  if (hash === '') return;
  const onProblem = (problem) => {
    if (mine === generation) handle(problem);
  };
  let next;
  try {
    next = createShakaEngine(video, { hash, currentToken: () => readChoice().token, onChange: menus.show, onProblem });
  } catch (error) {
    // Such as a library that was not loaded.
    fail(error);
    return;
  }
  engine = next;
  sideFiles = openSideFiles(hash);
  element('spinner').hidden = false;
  await sideFiles.refresh();
  if (mine !== generation) return;
  try {
    await next.load(from?.time);
  } catch (error) {
    onProblem(error);
    return;
  }
  if (mine !== generation) return;
  left = null;
  if (from) restoreTracks(next, from);
  await begin({ hash, poster, isPaused: from === null ? readFragment().isEmbedded : from.isPaused });
}

/** What follows when a stream is loaded. */
async function begin({ hash, poster, isPaused }) {
  const mine = generation;
  element('spinner').hidden = true;
  element('stage').dataset.state = 'paused';
  controls.enable(true);
  if (poster === '' && engine.qualities().every(({ height }) => !height)) video.poster = waveformAddress(hash);
  remember(hash);
  menus.show();
  embedding.report('ready', { qualities: engine.qualities().length });
  // Browsers may require a click first: the big button stays then.
  if (!isPaused) await video.play().catch(() => undefined);
  controls.showState();
  const chapters = await sideFiles.chapters().catch(() => []);
  if (mine === generation) menus.setChapters(chapters);
}

function showChoice({ hash, token, poster }) {
  document.body.toggleAttribute('data-embedded', readFragment().isEmbedded);
  video.poster = poster;
  document.title = hash === '' ? 'Reelwright player' : `${hash} · Reelwright player`;
  element('title').textContent = hash === '' ? 'No stream selected' : hash;
  element('pick').value = hash;
  element('token').value = token;
  hideMessage();
  element('spinner').hidden = true;
  element('stage').dataset.state = 'empty';
  controls.enable(false);
  controls.showState();
  menus.clear();
  if (hash === '')
    showMessage(
      new PlaybackProblem({
        kind: 'nothing',
        title: 'No stream selected',
        text: 'Enter a media hash below, or open the player link that the demo prints.',
      }),
    );
}

/** A part that is missing interrupts the stream at most; any other problem ends it. */
function handle(problem) {
  if (problem.isPart) interruption.report(problem);
  else fail(problem);
}

/** Shows the problem and destroys the player, so that it sends no further requests. */
function fail(problem) {
  generation += 1;
  leave();
  const broken = engine;
  engine = null;
  interruption.clear();
  element('spinner').hidden = true;
  element('stage').dataset.state = 'failed';
  controls.enable(false);
  controls.showState();
  void broken?.destroy();
  menus.show();
  const shown =
    problem instanceof PlaybackProblem
      ? problem
      : new PlaybackProblem({ kind: 'page', title: 'The page failed', text: String(problem) });
  const mine = generation;
  const isAsked = embedding.askForToken(shown, readFragment().hash, () => {
    if (mine === generation) showFailure(shown);
  });
  if (isAsked) element('spinner').hidden = false;
  else showFailure(shown);
}

function showFailure(problem) {
  element('spinner').hidden = true;
  element('stage').dataset.state = 'failed';
  showMessage(problem);
}

/** Remembers where playback is, for the next player; one that had yet to load goes on where the one before was. */
function leave() {
  if (engine !== null && left === null && video.readyState > 0)
    left = captureState(video, engine, { hash: readFragment().hash, isPaused: wasPaused() });
}

/** Shows why a part was not loaded: without an answer, because of the part alone, or because nothing can be reached. */
async function showCause(problem) {
  const { hash } = readFragment();
  const mine = generation;
  const isReachable =
    problem.kind !== 'part-unreachable' ||
    (await fetch(masterAddress(hash), { method: 'HEAD', cache: 'no-store' }).then(
      () => true,
      () => false,
    ));
  if (mine !== generation || !interruption.isShown()) return;
  element('spinner').hidden = true;
  showMessage(isReachable ? problem : unreachableProblem('stream-unreachable'));
}

function showMessage({ kind, title, message, actions }) {
  embedding.report('error', { kind, title, message });
  element('message-title').textContent = title;
  element('message-text').textContent = message;
  element('message').dataset.kind = kind;
  for (const action of ['retry', 'enter-token']) element(action).hidden = !actions.includes(action);
  element('message').hidden = false;
  element('big-play').hidden = true;
}

function hideMessage() {
  element('message').hidden = true;
  delete element('message').dataset.kind;
}

element('picker').addEventListener('submit', (event) => {
  event.preventDefault();
  const picked = readPick(element('pick').value);
  element('picker-fault').hidden = !picked.fault;
  element('picker-fault').textContent = picked.fault ?? '';
  if (picked.fault) return;
  writeFragment({ hash: picked.hash, token: element('token').value.trim() });
  element('stage').scrollIntoView({ block: 'nearest' });
});
element('retry').addEventListener('click', () => {
  if (!interruption.isActive()) void play();
  else {
    element('spinner').hidden = false;
    interruption.retry();
  }
});
element('enter-token').addEventListener('click', () => element('token').focus());
window.addEventListener('offline', () => {
  if (engine !== null) interruption.report(unreachableProblem('stream-unreachable'));
});
window.addEventListener('online', () => {
  if (engine === null && element('message').dataset.kind?.endsWith('-unreachable')) void play();
});
video.addEventListener('waiting', () => (element('spinner').hidden = engine === null || !element('message').hidden));
for (const name of ['playing', 'canplay', 'pause'])
  video.addEventListener(name, () => (element('spinner').hidden = true));
window.addEventListener('hashchange', () => {
  if (renewed?.hash !== readFragment().hash) renewed = null;
  void play();
});
setInterval(() => showFigures(video, engine), 500);
showRecent();
void play();
