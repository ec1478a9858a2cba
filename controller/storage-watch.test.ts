import { describe, expect, it } from 'vitest';
import { createLogger } from '#platform/telemetry/logger.ts';
import { StorageWatch } from './storage-watch.ts';

const log = createLogger({ level: 'silent', name: 'test' });
const answers = { ping: () => Promise.resolve() };

/** A bucket whose check fails with a status of S3; 0 for one that does not answer at all. */
function refusing(status: number) {
  const cause = status === 0 ? new Error('connect ECONNREFUSED') : { $metadata: { httpStatusCode: status } };
  return { ping: () => Promise.reject(new Error('the bucket cannot be read', { cause })) };
}

async function isOutage(source: Pick<typeof answers, 'ping'>, media: Pick<typeof answers, 'ping'>): Promise<boolean> {
  const watch = new StorageWatch({ source, media, log, outageDeadlineMs: 60_000, probeEveryMs: 60_000 });
  try {
    return (await watch.isOutage()) && watch.isAway;
  } finally {
    await watch.stop();
  }
}

describe('an outage of the storage', () => {
  it.each([400, 401, 403, 404, 405, 429])('a bucket that answers %i is no outage: it answers', async (status) => {
    expect(await isOutage(refusing(status), answers)).toBe(false);
    expect(await isOutage(answers, refusing(status))).toBe(false);
  });

  it.each([0, 500, 502, 503, 504])('a bucket that answers %i (0: not at all) is an outage', async (status) => {
    expect(await isOutage(refusing(status), answers)).toBe(true);
    expect(await isOutage(answers, refusing(status))).toBe(true);
  });

  it('admission waits during an outage, and goes on once both buckets answer', async () => {
    let isBack = false;
    const media = { ping: () => (isBack ? answers.ping() : refusing(503).ping()) };
    const watch = new StorageWatch({ source: answers, media, log, outageDeadlineMs: 60_000, probeEveryMs: 5 });
    expect(await watch.isOutage()).toBe(true);
    let isWaiting = true;
    const waiting = watch.whenAvailable(AbortSignal.timeout(10_000)).then(() => (isWaiting = false));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(isWaiting).toBe(true);
    isBack = true;
    await waiting;
    expect(watch.isAway).toBe(false);
    await watch.stop();
  });
});
