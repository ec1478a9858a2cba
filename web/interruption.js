import { unreachableProblem } from './problems.js';
import { bufferedAhead, bufferedEnd } from './timeline.js';

// A part of the stream that cannot be loaded. What is buffered plays on, the part is requested again, and the viewer is
// informed only when playback stops for it. Position, tracks and quality stay as they are.

/** Pauses between the automatic tries, in milliseconds: about five minutes, after which the button remains. */
const retryDelaysMs = [2000, 4000, 8000, 16_000, ...Array.from({ length: 9 }, () => 30_000)];
/** Playback stands still when its time has not changed for this long. */
const stillMs = 1000;

/**
 * @typedef {import('./problems.js').PlaybackProblem} PlaybackProblem
 *
 * @typedef {object} InterruptionInput
 * @property {() => void} resume makes the player try again in place
 * @property {(problem: PlaybackProblem) => void} show
 * @property {() => void} hide hides the problem again
 */

/**
 * Why a part was not loaded: because of the part alone, or because nothing can be reached.
 *
 * @param {PlaybackProblem} problem
 * @param {string} master the address of the stream
 */
export async function causeOf(problem, master) {
  if (problem.kind !== 'part-unreachable') return problem;
  const request = fetch(master, { method: 'HEAD', cache: 'no-store' });
  return await request.then(
    () => problem,
    () => unreachableProblem('stream-unreachable'),
  );
}

/**
 * @param {HTMLVideoElement} video
 * @param {InterruptionInput} input
 */
export function createInterruption(video, { resume, show, hide }) {
  /** @type {PlaybackProblem | null} */
  let problem = null;
  /** The end of what was buffered at the last failure, in seconds. */
  let blockedAt = 0;
  let isShown = false;
  let tries = 0;
  /** @type {number | undefined} */
  let retryTimer;
  /** @type {number | undefined} */
  let stillTimer;
  let still = { time: -1, sinceMs: 0 };

  const retry = () => {
    window.clearTimeout(retryTimer);
    retryTimer = undefined;
    resume();
  };
  const look = () => {
    const now = performance.now();
    // A paused video shows a frame; one that has none yet is waited for.
    const isPaused = video.paused && video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;
    const isMoving = video.currentTime !== still.time || isPaused;
    if (isMoving) still = { time: video.currentTime, sinceMs: now };
    if (problem !== null && !isShown && !isMoving && now - still.sinceMs >= stillMs) {
      isShown = true;
      show(problem);
    } else if (isShown && isMoving && !video.paused) {
      isShown = false;
      hide();
    }
  };
  const clear = () => {
    window.clearTimeout(retryTimer);
    window.clearInterval(stillTimer);
    retryTimer = stillTimer = undefined;
    if (isShown) hide();
    problem = null;
    isShown = false;
    tries = 0;
  };
  // The last try has loaded more. `buffered` is what all tracks have in common.
  video.addEventListener('progress', () => {
    if (problem === null || retryTimer !== undefined) return;
    if (bufferedAhead(video) > 0.5 && bufferedEnd(video) > blockedAt + 0.1) clear();
  });
  window.addEventListener('online', () => {
    if (problem !== null) retry();
  });

  return {
    isActive: () => problem !== null,
    /** The title of the problem, or ''. */
    fault: () => problem?.title ?? '',
    tries: () => tries,
    isShown: () => isShown,
    /**
     * A part has failed.
     *
     * @param {PlaybackProblem} found
     */
    report(found) {
      problem = found;
      blockedAt = bufferedEnd(video);
      if (isShown) show(found);
      stillTimer ??= window.setInterval(look, 250);
      if (retryTimer === undefined && tries < retryDelaysMs.length) {
        retryTimer = window.setTimeout(retry, retryDelaysMs[tries]);
        tries += 1;
      }
    },
    /** The viewer asks for another try. */
    retry() {
      hide();
      isShown = false;
      still = { time: video.currentTime, sinceMs: performance.now() };
      retry();
    },
    clear,
  };
}
