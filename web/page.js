import { readFragment, streamAddress } from './addresses.js';
import { wireControls } from './controls.js';
import { createCredentials, createTicketTimer } from './credentials.js';
import { wireDetails } from './details.js';
import { elementOf } from './elements.js';
import { createEmbedding } from './embedding.js';
import { showFigures } from './figures.js';
import { showHeading } from './heading.js';
import { causeOf, createInterruption } from './interruption.js';
import { createMenus } from './menus.js';
import { createMessage } from './message.js';
import { showInPicker, wirePicker } from './picker.js';
import { showPoster } from './poster.js';
import { nothingProblem, PlaybackProblem, problemOf, unreachableProblem } from './problems.js';
import { remember, showRecent } from './recent.js';
import { captureState, restoreTracks, watchPauses } from './resumption.js';
import { openSideFiles } from './side-files.js';
import { createStreamPlayer } from './stream-player.js';
import { watchWaits } from './wait.js';

// The page: reads the input from the fragment, plays the stream, and shows problems.

const video = elementOf('video', HTMLVideoElement);
const stage = elementOf('stage', HTMLElement);
const spinner = elementOf('spinner', HTMLElement);

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
const credentials = createCredentials();
/** A part was refused for its ticket in mid-play, and the page around was asked for another one. */
let isTicketAwaited = false;
const embedding = createEmbedding(video, {
  isEmbedded: () => readFragment().isEmbedded,
  take(name, value, hash = readFragment().hash) {
    credentials.take(name, value, hash);
    if (hash !== readFragment().hash) return;
    ticketTimer.watch(credentials.choice().ticket);
    // A player at work uses it for its next request.
    if (player === null) void play();
    else if (isTicketAwaited && name === 'ticket') player.resume();
    if (name === 'ticket') isTicketAwaited = false;
  },
});
const ticketTimer = createTicketTimer(() => embedding.report('ticketneeded', { kind: 'ticket-expiring' }));
const message = createMessage(embedding.report);

const interruption = createInterruption(video, {
  resume: () => player?.resume(),
  show: (problem) => void showCause(problem),
  hide: () => message.hide(),
});

async function play() {
  const mine = (generation += 1);
  const choice = credentials.choice();
  const { hash } = choice;
  const before = player;
  const from = left?.hash === hash ? left : null;
  left = from;
  player = null;
  isTicketAwaited = false;
  ticketTimer.watch(choice.ticket);
  interruption.clear();
  await before?.destroy();
  if (mine !== generation) return;
  showChoice(choice);
  if (hash === '') return;
  /** @param {unknown} problem */
  const onProblem = (problem) => {
    if (mine === generation) handle(problem);
  };
  try {
    const input = { choice: () => credentials.choice(), onChange: () => menus.show(), onProblem };
    const next = createStreamPlayer(video, input);
    player = next;
    sideFiles = openSideFiles(() => credentials.choice());
    spinner.hidden = false;
    await sideFiles.refresh();
    if (mine !== generation) return;
    // It is an ornament: the stream plays without it.
    if (choice.poster === '' && from === null)
      showPoster(video, sideFiles, {
        fromSec: choice.startSec,
        isCurrent: () => mine === generation,
      }).catch(() => undefined);
    await next.load(from?.time ?? (choice.startSec || undefined));
    if (mine !== generation) return;
    left = null;
    if (from) restoreTracks(next, from);
    await begin(next, { ...choice, isPaused: from === null ? choice.isEmbedded : from.isPaused });
  } catch (error) {
    onProblem(error);
  }
}

/**
 * Shows what belongs to a stream once it is loaded.
 *
 * @param {import('./stream-player.js').StreamPlayer} loaded
 * @param {{hash: string, ticket: string, poster: string, isPaused: boolean}} choice
 */
async function begin(loaded, { hash, ticket, poster, isPaused }) {
  const mine = generation;
  spinner.hidden = true;
  stage.dataset['state'] = 'paused';
  controls.enable(true);
  if (poster === '' && loaded.qualities().every(({ height }) => !height))
    video.poster = streamAddress({ hash, ticket }, 'waveform.webp');
  remember(hash);
  menus.show();
  embedding.report('ready', { qualities: loaded.qualities().length });
  // Browsers may require a click first: the big button stays then.
  if (!isPaused) await video.play().catch(() => undefined);
  controls.showState();
  const chapters = (await sideFiles?.chapters().catch(() => [])) ?? [];
  if (mine !== generation) return;
  menus.setChapters(chapters);
  controls.markChapters(chapters);
}

/** @param {import('./addresses.js').Choice} choice */
function showChoice(choice) {
  const { hash, token, poster } = choice;
  showHeading(choice);
  video.poster = poster;
  showInPicker({ hash, token });
  message.hide();
  spinner.hidden = true;
  stage.dataset['state'] = 'empty';
  controls.enable(false);
  controls.showState();
  menus.clear();
  controls.markChapters([]);
  if (hash === '') message.show(nothingProblem());
}

/**
 * A part that is missing interrupts the stream at most; any other problem ends it.
 *
 * @param {unknown} problem
 */
function handle(problem) {
  if (problem instanceof PlaybackProblem && problem.isPart) interruption.report(problem);
  else if (!askInPlace(problem)) fail(problem);
}

/**
 * Asks for another ticket while the stream plays what it has loaded.
 *
 * @param {unknown} problem
 * @returns {boolean} whether the page around was asked, now or before
 */
function askInPlace(problem) {
  if (!(problem instanceof PlaybackProblem) || !problem.kind.startsWith('ticket-') || video.readyState === 0)
    return false;
  const mine = generation;
  isTicketAwaited ||= embedding.ask(problem, readFragment().hash, () => {
    if (mine === generation && isTicketAwaited) fail(problem);
  });
  return isTicketAwaited;
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
  stage.dataset['state'] = 'failed';
  controls.enable(false);
  controls.showState();
  void broken?.destroy();
  menus.show();
  const shown = problemOf(problem);
  const mine = generation;
  const isAsked = embedding.ask(shown, readFragment().hash, () => {
    if (mine === generation) showFailure(shown);
  });
  spinner.hidden = !isAsked;
  if (!isAsked) showFailure(shown);
}

/** @param {PlaybackProblem} problem */
function showFailure(problem) {
  spinner.hidden = true;
  message.show(problem);
}

/** Remembers where playback is, for the next player; one that had yet to load goes on where the one before was. */
function leave() {
  if (player !== null && left === null && video.readyState > 0)
    left = captureState(video, player, { hash: readFragment().hash, isPaused: wasPaused() });
}

/** @param {PlaybackProblem} problem */
async function showCause(problem) {
  const mine = generation;
  const cause = await causeOf(problem, streamAddress(credentials.choice(), 'master.m3u8'));
  if (mine !== generation || !interruption.isShown()) return;
  spinner.hidden = true;
  message.show(cause, interruption.tries());
}

wirePicker();
wireDetails();
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
  credentials.forgetOthers();
  void play();
});
setInterval(() => showFigures(video, player), 500);
watchWaits(
  () =>
    spinner.hidden || player === null
      ? null
      : { ...player.line(), fault: interruption.fault(), tries: interruption.tries() },
  (wait) => embedding.report('waitingfor', wait),
);
showRecent();
void play();
