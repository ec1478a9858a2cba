import { expect, it } from 'vitest';
import type { ListedJob } from '#clients/typescript/src/index.ts';
import { agoText, bytesText, doingText, durationText, localMinute } from './format.js';

/** With codes of newer servers. */
type Doing = Pick<ListedJob, 'status' | 'phase' | 'eta'> & { reason: { code: string; message: string } | null };
const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

it.each([
  [-5 * second, '0 s'],
  [0, '0 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [89 * second, '1 min'],
  [hour - 31 * second, '59 min'],
  [hour - 30 * second, '1 h'],
  [hour + 5 * minute, '1 h 5 min'],
  [2 * hour - 20 * second, '2 h'],
  [47 * hour + 59 * minute, '47 h 59 min'],
  [2 * day, '2 days'],
  [2.5 * day + hour, '3 days'],
])('a duration of %i ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [-hour, 'now'],
  [4999, 'now'],
  [5000, '5 s ago'],
  [hour - second, '1 h ago'],
  [1.4 * hour, '1 h ago'],
  [1.6 * hour, '2 h ago'],
  [47.4 * hour, '47 h ago'],
  [47.6 * hour, '2 days ago'],
  [9 * day, '9 days ago'],
])('a time %i ms ago is %s', (ms, text) => {
  const now = Date.UTC(2026, 0, 31);
  expect(agoText(new Date(now - ms).toISOString(), now)).toBe(text);
});

it.each([
  [null, '–'],
  [undefined, '–'],
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [99_900, '99.9 kB'],
  [123_456, '123 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [48e6, '48.0 MB'],
  [5e12, '5.0 TB'],
  [5e15, '5000 TB'],
])('%s bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

const queued: Doing = { status: 'queued', phase: null, eta: null, reason: null };
const running: Doing = { ...queued, status: 'processing' };

it.each<[Doing, string]>([
  [{ ...queued }, 'waiting'],
  [{ ...queued, reason: { code: 'pool_full', message: 'its message' } }, 'its pool is full'],
  [{ ...queued, reason: { code: 'of_a_newer_server', message: 'its message' } }, 'its message'],
  [running, 'starting'],
  [{ ...running, phase: 'encoding' }, 'encoding'],
  [
    { ...running, phase: 'encoding', eta: new Date(Date.now() + 3 * minute).toISOString() },
    'encoding, about 3 min left',
  ],
  [{ ...running, status: 'failed', phase: 'encoding' }, ''],
])('what a job %o does is %s', (job, text) => {
  expect(doingText(job)).toBe(text);
});

it('a field for a time has the minute of this place', () => {
  expect(localMinute(new Date(2026, 10, 24, 8, 5, 59))).toBe('2026-11-24T08:05');
});
