import { z } from 'zod';
import { x264Presets } from '#domain/media/profiles.ts';
import { setting } from './settings.ts';
import {
  cidrsValue,
  durationsValue,
  integerValue,
  positiveDurationValue,
  readBy,
  sizeValue,
  wordValue,
} from './values.ts';

/** Section 8, "Webhook attempts". */
const webhookAttemptsMax = 5;

const backoffValue = readBy(`one to ${webhookAttemptsMax} durations separated by commas, such as 0s,5s,3m`, (text) => {
  const { data } = durationsValue.safeParse(text);
  return data !== undefined && data.length <= webhookAttemptsMax ? data : null;
});

const pathValue = readBy('a path', (text) => (text.includes('\0') ? null : text));
const concurrencyValue = integerValue(1, 10_000);

/** Jobs: what is accepted, how many run at once, how long they may take, and what runs them. */
export const workerSettings = z.object({
  MAX_FILE_SIZE: setting(sizeValue.prefault('20GiB'), { meaning: 'Largest accepted video source.' }),
  LARGE_VIDEO_THRESHOLD: setting(sizeValue.prefault('2GiB'), {
    meaning: 'Measured size from which on a video goes to the queue `video:large`.',
  }),
  EXECUTOR: setting(wordValue(['kubernetes', 'process']).optional(), {
    meaning: '`kubernetes` or `process`: what runs the work.',
    defaultNote: '`kubernetes` inside a cluster, else `process`',
  }),
  WORKER_CONCURRENCY: setting(concurrencyValue.prefault('4'), {
    meaning: 'Jobs of the default queue at work at once.',
  }),
  LARGE_WORKER_CONCURRENCY: setting(concurrencyValue.prefault('1'), {
    meaning: 'Jobs of the queue `video:large` at work at once.',
  }),
  WORKER_METRICS_PORT: setting(integerValue(0, 65_535).prefault('3001'), {
    meaning: 'Port of the listener of mode `worker`; `0` disables it.',
  }),
  JOB_ATTEMPTS: setting(integerValue(1, 100).prefault('3'), {
    meaning: 'Attempts that may fail by themselves before a job fails; an interruption costs none.',
  }),
  JOB_DEADLINE: setting(positiveDurationValue.prefault('6h'), { meaning: 'How long one step of an attempt may take.' }),
  LEASE_DURATION: setting(positiveDurationValue.prefault('15s'), {
    meaning: 'After how long without a word of its worker a job is taken up by another (process executor).',
  }),
  SWEEP_INTERVAL: setting(positiveDurationValue.prefault('5s'), {
    meaning: 'How often lost tickets and lapsed leases are looked for.',
  }),
  TICKET_AGE: setting(positiveDurationValue.prefault('30s'), {
    meaning: 'How long a job may wait without a sign of its ticket before the ticket is added again.',
  }),
  WORK_DIR: setting(pathValue.optional(), {
    meaning: 'Scratch folder of the process executor.',
    defaultNote: "the system's temporary folder",
  }),
  FFMPEG_PATH: setting(pathValue.optional(), {
    meaning: 'The program `ffmpeg`.',
    defaultNote: 'found: npm `ffmpeg-static`, then PATH',
  }),
  FFPROBE_PATH: setting(pathValue.optional(), {
    meaning: 'The program `ffprobe`.',
    defaultNote: 'found: PATH, then npm `@ffprobe-installer/ffprobe`',
  }),
  PACKAGER_PATH: setting(pathValue.optional(), {
    meaning: 'The program of Shaka Packager.',
    defaultNote: 'found: npm `shaka-packager`, then PATH',
  }),
  X264_PRESET: setting(wordValue(x264Presets).optional(), {
    meaning: "x264's preset, `ultrafast` to `veryslow`: what speed costs in quality and size.",
    defaultNote: "the profile's: `medium`",
  }),
  WEBHOOK_ALLOWED_CIDRS: setting(cidrsValue.optional(), {
    meaning: 'Networks (CIDR) that webhooks may go to although they are private.',
    defaultNote: 'none',
  }),
  WEBHOOK_BACKOFF: setting(backoffValue.prefault('0s,5s,30s,3m,18m'), {
    meaning: 'What is waited before each attempt at a webhook; at most five.',
  }),
});
