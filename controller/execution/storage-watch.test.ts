import { describe, expect, it, vi } from 'vitest';
import { createLogger } from '#platform/telemetry/logger.ts';
import { StorageWatch } from './storage-watch.ts';

const log = createLogger({ level: 'silent', name: 'test' });
const answers = { ping: () => Promise.resolve() };

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
}

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

  it('an outage past its deadline pauses nothing and costs attempts, and the next one pauses again', async () => {
    let isBack = false;
    let [records, answered] = [0, 0];
    const back = async () => void (answered += 1);
    const media = { ping: () => (isBack ? back() : refusing(503).ping()) };
    const recordOutage = async () => void (records += 1);
    const watch = new StorageWatch({
      source: answers,
      media,
      log,
      outageDeadlineMs: 50,
      probeEveryMs: 5,
      recordOutage,
    });
    expect(await watch.isOutage()).toBe(true);
    expect(watch.problem).toBe('the media bucket does not answer (no answer)');
    await watch.whenAvailable(AbortSignal.timeout(10_000));
    expect([watch.isAway, await watch.isOutage(), watch.problem, records > 1]).toEqual([false, false, null, true]);
    isBack = true;
    await vi.waitFor(() => expect(answered).toBeGreaterThan(0));
    isBack = false;
    await vi.waitFor(async () => expect(await watch.isOutage()).toBe(true));
    expect(watch.isAway).toBe(true);
    await watch.stop();
  });

  it('a worker that stops waits for no bucket', async () => {
    let pings = 0;
    // A bucket that is refused at first, and then hangs.
    const silent = { ping: (signal?: AbortSignal) => (pings++ === 0 ? refusing(503).ping() : untilAborted(signal)) };
    const watch = new StorageWatch({ source: answers, media: silent, log, outageDeadlineMs: 60_000, probeEveryMs: 1 });
    expect(await watch.isOutage()).toBe(true);
    await vi.waitFor(() => expect(pings).toBe(2));
    const waiting = new AbortController();
    const waits = watch.whenAvailable(waiting.signal);
    waiting.abort(new Error('stopping'));
    await expect(waits).rejects.toThrow();
    const startedAt = performance.now();
    await watch.stop();
    // Less than a check may take.
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });
});
