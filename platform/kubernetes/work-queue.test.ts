import { beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from './clock.ts';
import { KubeError } from './errors.ts';
import { type Requeue, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** A clock that stands until it is moved. */
class HandClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ dueMs: number; run: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get waiting(): number {
    return this.#timers.size;
  }

  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const [next] = [...this.#timers].filter(({ dueMs }) => dueMs <= untilMs).toSorted((a, b) => a.dueMs - b.dueMs);
      if (!next) break;
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.run();
      await settled();
    }
    this.#nowMs = untilMs;
    await settled();
  }
}

/** Lets everything that waits for promises alone go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

interface Run {
  key: string;
  atMs: number;
  end: (result?: Requeue | Error) => Promise<unknown>;
}

let clock: HandClock;
let runs: Run[];

beforeEach(() => {
  clock = new HandClock();
  runs = [];
});

/** A queue whose runs last until the test ends them. */
function queueOf(options: Partial<WorkQueueOptions> = {}): WorkQueue {
  return new WorkQueue({
    name: 'test',
    concurrency: 2,
    handle: (key) =>
      new Promise((resolve, reject) => {
        const end = (result?: Requeue | Error) => {
          if (result instanceof Error) reject(result);
          else resolve(result);
          return settled();
        };
        runs.push({ key, atMs: clock.nowMs(), end });
      }),
    log: { warn: () => {}, error: () => {} },
    backoff: { baseMs: 100, maxMs: 1000 },
    clock,
    // With this chance a backoff is the whole of its bound.
    random: () => 1,
    ...options,
  });
}

const ran = () => runs.map(({ key, atMs }) => `${key}@${atMs}`);

describe('a work queue', () => {
  test('a work queue runs a key once however often it was added before it ran', async () => {
    const queue = queueOf();
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    await queue.start();
    expect(ran()).toEqual(['a@0', 'b@0']);
  });

  test('a work queue never runs a key twice at once, and runs it once more when it was added meanwhile', async () => {
    const queue = queueOf();
    await queue.start();
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(ran()).toEqual(['a@0']);
    await runs[0]?.end();
    expect(ran()).toEqual(['a@0', 'a@0']);
    await runs[1]?.end();
    expect(ran()).toHaveLength(2);
  });

  test('a key that was added while it ran and failed runs again at once', async () => {
    const queue = queueOf();
    await queue.start();
    queue.add('a');
    queue.add('a');
    await runs[0]?.end(new Error('failed'));
    expect(ran()).toEqual(['a@0', 'a@0']);
  });

  test('a work queue looks again after what a handler asks', async () => {
    const queue = queueOf();
    await queue.start();
    queue.add('a');
    await runs[0]?.end({ afterMs: 5000 });
    await clock.advance(4999);
    expect(ran()).toEqual(['a@0']);
    await clock.advance(1);
    expect(ran()).toEqual(['a@0', 'a@5000']);
  });

  test.each([
    { wishes: [500, 100, 900], due: 100 },
    { wishes: [100, 500], due: 100 },
    { wishes: [700], due: 700 },
  ])('of several requested waits $wishes the earliest counts', async ({ wishes, due }) => {
    const queue = queueOf();
    await queue.start();
    for (const delayMs of wishes) queue.addAfter('a', delayMs);
    await clock.advance(10_000);
    expect(ran()).toEqual([`a@${due}`]);
  });

  test('a key that waits runs at once when it is added, and not again for its wait', async () => {
    const queue = queueOf();
    await queue.start();
    queue.addAfter('a', 500);
    queue.add('a');
    expect(ran()).toEqual(['a@0']);
    await runs[0]?.end();
    await clock.advance(10_000);
    expect(ran()).toEqual(['a@0']);
  });

  test('the work queue retries a failing key after waits that double up to their bound, and starts over after a success', async () => {
    const queue = queueOf();
    await queue.start();
    queue.add('a');
    for (let failure = 0; failure < 6; failure += 1) {
      await runs.at(-1)?.end(new Error('failed'));
      await clock.advance(1000);
    }
    const waits = runs.slice(1).map((run, i) => run.atMs - 1000 * i);
    expect(waits).toEqual([100, 200, 400, 800, 1000, 1000]);
    await runs.at(-1)?.end();
    queue.add('a');
    await runs.at(-1)?.end(new Error('failed'));
    const before = clock.nowMs();
    await clock.advance(1000);
    expect((runs.at(-1)?.atMs ?? 0) - before).toBe(100);
  });

  test('a work queue waits as long as a server asks when that is longer', async () => {
    const queue = queueOf();
    await queue.start();
    queue.add('a');
    await runs[0]?.end(new KubeError('busy', { status: 429, reason: 'TooManyRequests', retryAfterMs: 7000 }));
    await clock.advance(20_000);
    expect(ran()).toEqual(['a@0', 'a@7000']);
  });

  test('the work queue spreads the retries of many keys that fail together, beyond a burst', async () => {
    const queue = queueOf({ concurrency: 100, retryRate: { perSecond: 1, burst: 2 } });
    await queue.start();
    for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
    for (const run of runs.slice()) await run.end(new Error('failed'));
    await clock.advance(10_000);
    expect(runs.slice(5).map(({ atMs }) => atMs)).toEqual([100, 100, 1000, 2000, 3000]);
  });

  test('stop runs what is queued, forgets what waits, and resolves after the last worker', async () => {
    const queue = queueOf({ concurrency: 1 });
    await queue.start();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 100);
    let hasStopped = false;
    const stopped = queue.stop().then(() => (hasStopped = true));
    queue.add('d');
    await runs[0]?.end({ afterMs: 10 });
    expect(hasStopped).toBe(false);
    await runs[1]?.end(new Error('failed'));
    await stopped;
    await clock.advance(10_000);
    expect(ran()).toEqual(['a@0', 'b@0']);
    expect(clock.waiting).toBe(0);
  });

  test('stop that drops waits for running keys alone', async () => {
    const queue = queueOf({ concurrency: 1 });
    await queue.start();
    queue.add('a');
    queue.add('a');
    queue.add('b');
    const stopped = queue.stop({ queued: 'drop' });
    await runs[0]?.end();
    await stopped;
    expect(ran()).toEqual(['a@0']);
  });
});
