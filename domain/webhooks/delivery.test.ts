import { describe, expect, it } from 'vitest';
import { afterDelivery } from './delivery.ts';

const now = new Date('2026-11-01T12:00:00.000Z');
const backoffMs = [0, 5_000, 30_000, 180_000, 1_080_000];

function verdict(given: { attempt?: number; statusCode?: number | null; retryAfter?: string; random?: number }) {
  const { attempt = 1, statusCode = 500, retryAfter = null, random = 0.5 } = given;
  const found = afterDelivery({ attempt, statusCode, retryAfter, now, backoffMs, random });
  return typeof found === 'string' ? found : found.inMs;
}

describe('what follows an attempt to deliver a webhook', () => {
  it.each([200, 201, 204, 299])('%i is success', (statusCode) => expect(verdict({ statusCode })).toBe('sent'));

  it.each([100, 199, 300])('%i, beside the successes, is tried again', (statusCode) =>
    expect(verdict({ statusCode })).toBe(5_000),
  );

  it.each([301, 302, 307, 308, 400, 404, 429, 500, 503, null])('%s is tried again', (statusCode) =>
    expect(verdict({ statusCode })).toBe(5_000),
  );

  it('410 ends it at the first attempt', () => expect(verdict({ statusCode: 410 })).toBe('failed'));

  it('the waits are configured, and the fifth failure is the last', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => verdict({ attempt }))).toEqual([
      5_000,
      30_000,
      180_000,
      1_080_000,
      'failed',
    ]);
  });

  it.each([
    [0, 4_000],
    [0.999_999, 6_000],
  ])('with random %d the five seconds are %i ms', (random, waitMs) => expect(verdict({ random })).toBe(waitMs));

  it.each([
    ['120', 120_000],
    ['Sun, 01 Nov 2026 12:10:00 GMT', 600_000],
    [' 120 ', 120_000],
    ['120 seconds', 5_000],
    ['3600', 3_600_000],
    ['2026-11-01T12:10:00Z', 5_000],
    ['Sun, 01 Nov 2026 12:10:00 GMT-1', 5_000],
    ['7200', 3_600_000],
    ['Sun, 01 Nov 2026 11:00:00 GMT', 5_000],
    ['-5', 5_000],
    ['', 5_000],
  ])('Retry-After %j makes it wait %i ms', (retryAfter, waitMs) =>
    expect(verdict({ statusCode: 503, retryAfter })).toBe(waitMs),
  );
});
