import { expect, test } from 'vitest';
import { KubeError, type KubeStatus } from './errors.ts';

const waitMs = (retryAfter?: string, retryAfterSeconds?: unknown) =>
  KubeError.ofStatus('list pods', 429, { details: { retryAfterSeconds } } as KubeStatus, retryAfter).retryAfterMs;

test.each([
  ['7', undefined, 7000],
  ['300', undefined, 300_000],
  // More milliseconds than a timer has: it would run at once.
  ['2592000', undefined, 300_000],
  ['Fri, 31 Dec 2100 00:00:00 GMT', undefined, 300_000],
  ['Sat, 01 Jan 2000 00:00:00 GMT', undefined, undefined],
  ['soon', undefined, undefined],
  [undefined, 2, 2000],
  ['7', 2, 7000],
  [undefined, 2_592_000, 300_000],
  [undefined, -1, undefined],
  [undefined, { toString: 1 }, undefined],
  [undefined, undefined, undefined],
])('Retry-After %j, and %j in the body, ask for a wait of %j ms, five minutes at most', (header, seconds, expected) =>
  expect(waitMs(header, seconds)).toBe(expected),
);
