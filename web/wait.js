import { elementOf } from './elements.js';
import { rateText } from './figures.js';

// What a viewer waits for while playback stands still.

/** A shorter wait needs no words. */
const patienceMs = 1500;
/** The text changes at most this often: screen readers read it out. */
const changeMs = 2000;

/**
 * @typedef {object} Line what is known of the way to the server
 * @property {number} speed bits a second that arrive, 0 before they are measured
 * @property {number} needed bits a second of the chosen quality, 0 before one is chosen
 * @property {'lowest' | 'automatic' | 'chosen'} quality whether a lower one may follow
 * @property {string} fault the title of the problem with a part, or ''
 * @property {number} tries how often that part was requested again
 *
 * @typedef {'network' | 'server' | ''} WaitReason
 * @typedef {{reason: WaitReason, message: string}} Wait
 */

const remedies = {
  lowest: 'There is no lower quality.',
  automatic: 'A lower quality follows.',
  chosen: 'A lower quality needs less.',
};

/**
 * @param {Line} line
 * @returns {Wait}
 */
export function waitOf({ speed, needed, quality, fault, tries }) {
  if (fault !== '') return { reason: 'server', message: `${fault}. Try ${tries} is on its way.` };
  const isSlow = speed > 0 && speed < needed;
  if (!isSlow) return { reason: 'network', message: 'Waiting for the network.' };
  const message = `Waiting for the network: ${rateText(speed)} of ${rateText(needed)} needed. ${remedies[quality]}`;
  return { reason: 'network', message };
}

/** @type {Wait} */
const none = { reason: '', message: '' };

/**
 * Says what is waited for, and to the page around too.
 *
 * @param {() => Line | null} lineNow null while nothing is waited for
 * @param {(wait: Wait) => void} report
 */
export function watchWaits(lineNow, report) {
  const place = elementOf('wait', HTMLElement);
  let sinceMs = Number.POSITIVE_INFINITY;
  let shown = { ...none, atMs: 0 };
  setInterval(() => {
    const nowMs = performance.now();
    const line = lineNow();
    sinceMs = line === null ? Number.POSITIVE_INFINITY : Math.min(sinceMs, nowMs);
    const wait = line !== null && nowMs - sinceMs >= patienceMs ? waitOf(line) : none;
    const isEarly = wait.reason === shown.reason && nowMs - shown.atMs < changeMs;
    if (wait.message === shown.message || isEarly) return;
    shown = { ...wait, atMs: nowMs };
    place.textContent = wait.message;
    place.hidden = wait.message === '';
    report(wait);
  }, 250);
}
