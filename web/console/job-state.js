import { durationText, isActive } from './format.js';

// What a job is at, and what of it the page has seen.

/** @import { AnyJob, JobState, JobTimes, Moment } from './types.ts' */

/** @type {Record<string, string>} */
export const webhookTexts = { pending: 'waits for its delivery', sent: 'delivered', callback_failed: 'not delivered' };

/** The state of a job as one text: a change of the text is a new state. @param {JobState} job */
export const stateOf = ({ status, phase, attempt, callback_status: callback }) =>
  [status, phase, attempt, callback].join(' ');

/** Whether only its webhook is waited for, of which no event tells. @param {Pick<JobState, 'status' | 'callback_status'>} job */
export const waitsForWebhook = (job) => !isActive(job) && job.callback_status === 'pending';

/** @param {Pick<JobState, 'status' | 'phase' | 'attempt'>} job */
export const stateText = ({ status, phase, attempt }) =>
  [status, phase, attempt > 1 ? `attempt ${attempt}` : null].filter(Boolean).join(', ');

/** The words for a change: of the job, or else of its webhook. @param {JobState} before @param {JobState} after */
export const changeText = (before, after) =>
  stateText(before) === stateText(after)
    ? `webhook ${webhookTexts[after.callback_status ?? ''] ?? 'changed'}`
    : stateText(after);

/**
 * The moments of a job in their order: what its times say, and what was seen of it.
 *
 * @param {JobState & JobTimes & Pick<AnyJob, 'pool'>} job @param {readonly Moment[]} seen
 */
export function momentsOf(job, seen) {
  const hasSeenEnd = seen.some(({ text }) => text === stateText(job));
  const moments = [
    { at: job.created_at, text: 'submitted' },
    ...(job.started_at ? [{ at: job.started_at, text: `started in the pool ${job.pool}` }] : []),
    ...seen,
    ...(isActive(job) || hasSeenEnd ? [] : [{ at: job.finished_at ?? job.updated_at, text: stateText(job) }]),
  ];
  return moments.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** @param {string} from @param {string} to */
const between = (from, to) => durationText(Date.parse(to) - Date.parse(from));

/** How long it waited and ran; a job that was never started ended after it was submitted. @param {JobTimes} times */
export function tookText({ created_at: created, started_at: started, finished_at: finished, updated_at: updated }) {
  const end = finished ?? updated;
  if (!started) return `Ended ${between(created, end)} after it was submitted.`;
  return `Waited ${between(created, started)}, then ran for ${between(started, end)}.`;
}
