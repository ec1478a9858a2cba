import { masterAddress, readFragment, readPick, waveformAddress, writeFragment } from './addresses.js';
import { wireControls } from './controls.js';
import { elementOf } from './elements.js';
import { createEmbedding } from './embedding.js';
import { showFigures } from './figures.js';
import { createInterruption } from './interruption.js';
import { createMenus } from './menus.js';
import { createMessage } from './message.js';
import { PlaybackProblem, unreachableProblem } from './problems.js';
import { remember, showRecent } from './recent.js';
import { captureState, restoreTracks, watchPauses } from './resumption.js';
import { openSideFiles } from './side-files.js';
import { createStreamPlayer } from './stream-player.js';

// The page: reads the input from the fragment, plays the stream, and shows problems.

const video = elementOf('video', HTMLVideoElement);
const stage = elementOf('stage', HTMLElement);
const spinner = elementOf('spinner', HTMLElement);
const pickField = elementOf('pick', HTMLInputElement);
const pickFault = elementOf('picker-fault', HTMLElement);
const tokenField = elementOf('token', HTMLInputElement);

/** @type {import('./stream-player.js').StreamPlayer | null} */
let player = null;
/** @type {import('./side-files.js').SideFiles | null} */
let sideFiles = null;
/** Number of the current playback: results of earlier ones are ignored. */
let generation = 0;
/**
 * Where a player that was given up has been, until another one has loaded; null when there is nothing to take over.
 *
 * @type {import('./resumption.js').PlaybackState | null}
 */
let left = null;

const menus = createMenus(video, () => player);
const controls = wireControls(video, {
  tileAt: async (time) => (await sideFiles?.tileAt(time)) ?? null,
  titleAt: (time) => menus.chapterAt(time)?.title ?? '',
  toggleCaptions: menus.toggleCaptions,
  togglePanel: menus.togglePanel,
  changeSpeed: menus.changeSpeed,
});
const wasPaused = watchPauses(video);
/**
 * A token that the page around sent, which wins over the one of the address.
 *
 * @type {{hash: string, token: string} | null}
 */
let renewed = null;
const embedding = createEmbedding(video, {
  isEmbedded: () => readFragment().isEmbedded,
  takeToken(token, hash = readFragment().hash) {
    renewed = { hash, token };
    // A player at work uses it for its next key.
    if (player === null && hash === readFragment().hash) void play();
  },
});
const message = createMessage(embedding.report);

/** The stream and the newest token for it. */
function readChoice() {
  const choice = readFragment();
  return renewed?.hash === choice.hash ? { ...choice, token: renewed.token } : choice;
}

const interruption = createInterruption(video, {
  resume: () => player?.resume(),
  show: (problem) => void showCause(problem),
  hide: () => message.hide(),
});

async function play() {
  const mine = (generation += 1);
  const choice = readChoice();
  const { hash } = choice;
  const before = player;
  const from = left?.hash === hash ? left : null;
  left = from;
  player = null;
  interruption.clear();
  await before?.destroy();
  if (mine !== generation) return;
  showChoice(choice);
  if (hash === '') return;
  /** @param {unknown} problem */
  const onProblem = (problem) => {
    if (mine === generation) handle(problem);
  };
  let next;
  try {
    next = createStreamPlayer(video, { hash, currentToken: () => readChoice().token, onChange: menus.show, onProblem });
  } catch (error) {
    // Such as a library that was not loaded.
    fail(error);
    return;
  }
  player = next;
  sideFiles = openSideFiles(hash);
  spinner.hidden = false;
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
  await begin(next, { ...choice, isPaused: from === null ? choice.isEmbedded : from.isPaused });
}

/**
 * What follows when a stream is loaded.
 *
 * @param {import('./stream-player.js').StreamPlayer} loaded
 * @param {{hash: string, poster: string, isPaused: boolean}} choice
 */
async function begin(loaded, { hash, poster, isPaused }) {
  const mine = generation;
  spinner.hidden = true;
  stage.dataset['state'] = 'paused';
  controls.enable(true);
  if (poster === '' && loaded.qualities().every(({ height }) => !height)) video.poster = waveformAddress(hash);
  remember(hash);
  menus.show();
  embedding.report('ready', { qualities: loaded.qualities().length });
  // Browsers may require a click first: the big button stays then.
  if (!isPaused) await video.play().catch(() => undefined);
  controls.showState();
  const chapters = (await sideFiles?.chapters().catch(() => [])) ?? [];
  if (mine === generation) menus.setChapters(chapters);
}

/** @param {import('./addresses.js').Choice} choice */
function showChoice({ hash, token, poster, isEmbedded }) {
  document.body.toggleAttribute('data-embedded', isEmbedded);
  video.poster = poster;
  document.title = hash === '' ? 'Reelwright player' : `${hash} · Reelwright player`;
  elementOf('title', HTMLElement).textContent = hash === '' ? 'No stream selected' : hash;
  pickField.value = hash;
  tokenField.value = token;
  message.hide();
  spinner.hidden = true;
  stage.dataset['state'] = 'empty';
  controls.enable(false);
  controls.showState();
  menus.clear();
  if (hash !== '') return;
  const text = 'Enter a media hash below, or open the player link that the demo prints.';
  message.show(new PlaybackProblem({ kind: 'nothing', title: 'No stream selected', text }));
}

/**
 * A part that is missing interrupts the stream at most; any other problem ends it.
 *
 * @param {unknown} problem
 */
function handle(problem) {
  if (problem instanceof PlaybackProblem && problem.isPart) interruption.report(problem);
  else fail(problem);
}

/**
 * Shows the problem and destroys the player, so that it sends no further requests.
 *
 * @param {unknown} problem
 */
function fail(problem) {
  generation += 1;
  leave();
  const broken = player;
  player = null;
  interruption.clear();
  spinner.hidden = true;
  stage.dataset['state'] = 'failed';
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
  if (isAsked) spinner.hidden = false;
  else showFailure(shown);
}

/** @param {PlaybackProblem} problem */
function showFailure(problem) {
  spinner.hidden = true;
  stage.dataset['state'] = 'failed';
  message.show(problem);
}

/** Remembers where playback is, for the next player; one that had yet to load goes on where the one before was. */
function leave() {
  if (player !== null && left === null && video.readyState > 0)
    left = captureState(video, player, { hash: readFragment().hash, isPaused: wasPaused() });
}

/**
 * Shows why a part was not loaded: without an answer, because of the part alone, or because nothing can be reached.
 *
 * @param {PlaybackProblem} problem
 */
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
  spinner.hidden = true;
  message.show(isReachable ? problem : unreachableProblem('stream-unreachable'));
}

elementOf('picker', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const { hash, fault } = readPick(pickField.value);
  pickFault.hidden = fault === null;
  pickFault.textContent = fault ?? '';
  if (hash === null) return;
  writeFragment({ hash, token: tokenField.value.trim() });
  stage.scrollIntoView({ block: 'nearest' });
});
message.onRetry(() => {
  if (!interruption.isActive()) void play();
  else {
    spinner.hidden = false;
    interruption.retry();
  }
});
window.addEventListener('offline', () => {
  if (player !== null) interruption.report(unreachableProblem('stream-unreachable'));
});
window.addEventListener('online', () => {
  if (player === null && message.kind()?.endsWith('-unreachable')) void play();
});
video.addEventListener('waiting', () => (spinner.hidden = player === null || message.kind() !== undefined));
for (const name of ['playing', 'canplay', 'pause']) video.addEventListener(name, () => (spinner.hidden = true));
window.addEventListener('hashchange', () => {
  if (renewed?.hash !== readFragment().hash) renewed = null;
  void play();
});
setInterval(() => showFigures(video, player), 500);
showRecent();
void play();
