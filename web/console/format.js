// How values are written.

/** @import { JobDoing, JobStatus, JobType } from './types.ts' */

/** @type {JobType[]} */
export const jobTypes = ['video:full', 'video:transcode', 'video:cover', 'video:preview', 'image:thumbnail'];
/** @type {JobStatus[]} */
export const statuses = ['queued', 'processing', 'completed', 'failed', 'cancelled'];

/** @param {{ status: string }} job */
export const isActive = ({ status }) => status === 'queued' || status === 'processing';

const units = ['B', 'kB', 'MB', 'GB', 'TB'];

/** @param {number | null | undefined} bytes */
export function bytesText(bytes) {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return '–';
  const floor = bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3);
  const step = Math.min(units.length - 1, Math.round(bytes / 1000 ** floor) < 1000 ? floor : floor + 1);
  const value = bytes / 1000 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[step]}`;
}

/** `45 s`, `3 min`, `2 h 5 min`, `3 days`. @param {number} ms */
export function durationText(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const allMinutes = Math.round(seconds / 60);
  if (allMinutes < 60) return `${allMinutes} min`;
  const [hours, minutes] = [Math.floor(allMinutes / 60), allMinutes % 60];
  if (hours >= 48) return `${Math.round(hours / 24)} days`;
  return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
}

/** `0.42 s`, `7.5 s`, `42 s`, `3 min 5 s`, and from an hour on as `durationText`. @param {number} ms */
export function secondsText(ms) {
  if (ms < 10_000) return `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)} s`;
  const allSeconds = Math.round(ms / 1000);
  if (allSeconds >= 3600) return durationText(ms);
  const [minutes, seconds] = [Math.floor(allSeconds / 60), allSeconds % 60];
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds} s`;
}

/** `now`, `5 min ago`. @param {string} time */
export function agoText(time, nowMs = Date.now()) {
  const ms = nowMs - Date.parse(time);
  if (ms < 5000) return 'now';
  const hours = Math.round(ms / 3_600_000);
  if (ms < 3_600_000) return `${durationText(ms)} ago`;
  return `${hours < 48 ? `${hours} h` : durationText(hours * 3_600_000)} ago`;
}

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** @param {string} time */
export const dateTimeText = (time) => dateTime.format(new Date(time));
/** @param {string} time */
export const clockText = (time) => clock.format(new Date(time));

/** `2026-11-24T08:00`, as fields for a time have it, in the time of this place. @param {Date} time */
export const localMinute = (time) =>
  new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** @type {Record<string, string>} */
const reasonTexts = {
  next_in_queue: 'next in the queue',
  behind_others: 'behind other jobs',
  pool_full: 'its pool is full',
  next_attempt_later: 'another try follows after a pause',
  storage_outage: 'the storage does not answer',
  media_deletion: 'its media is being deleted',
  key_quota: 'a quota of its API key is used up',
  suspended: 'suspended',
  unschedulable: 'no node has space for it',
  quota_exceeded: 'a quota is used up',
  image_unavailable: 'its image cannot be pulled',
  node_lost: 'its node does not answer',
  cannot_start: 'it cannot start',
};

/** Why a job waits, in a few words; undefined for a code that is not known here. @param {string} code */
export const reasonTextOf = (code) => reasonTexts[code];

/** Says what an active job is doing, or why it waits; '' for one that has ended. @param {JobDoing} job */
export function doingText(job) {
  if (!isActive(job)) return '';
  if (job.reason) return reasonTexts[job.reason.code] ?? job.reason.message;
  if (job.eta) return `${job.phase ?? 'working'}, about ${durationText(Date.parse(job.eta) - Date.now())} left`;
  return job.phase ?? (job.status === 'queued' ? 'waiting' : 'starting');
}
