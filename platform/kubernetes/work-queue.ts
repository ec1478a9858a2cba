import type { Backoff } from '#domain/backoff.ts';
import { backoffMs } from '../lifecycle/backoff.ts';
import { TokenBucket, type TokenRate } from '#platform/concurrency/token-bucket.ts';
import { type Clock, monotonicClock } from './clock.ts';
import { KubeError } from './errors.ts';
import type { Log } from './log.ts';

// The queue of a controller: keys of objects to reconcile. A key is in one of these states, or in none:
//
//   delayed ──time──▶ queued ──free worker──▶ running ──▶ (forgotten)
//      ▲                 ▲                      │  │
//      │                 └── added meanwhile ───┘  │
//      └── after the delay that the handler asks for, or after a backoff when it threw
//
// A key is queued once however often it is added, and never runs twice at once: an addition while it runs makes it run
// once more afterwards. A crash loses the queue, and the first list of the reflectors fills it again.

/** The answer of a handler: done, or to be called again after a delay (in milliseconds). */
export type Requeue = { afterMs: number } | undefined | void;

/** The settings of a work queue. */
export interface WorkQueueOptions {
  name: string;
  /** Handles one key. When it throws, it is called again after a backoff, and never before a server's Retry-After. */
  handle: (key: string) => Promise<Requeue>;
  /** How many keys run at once. */
  concurrency: number;
  log: Log;
  /** The delays of one key after failures in a row (50 ms, doubled, to 5 min). */
  backoff?: Backoff;
  /** The rate of retries of all keys together (10 a second, after a burst of 100): many keys may fail for one cause. */
  retryRate?: TokenRate;
  clock?: Clock;
  random?: () => number;
}

/** A deduplicating, delaying, rate-limited queue with a fixed number of workers. */
export class WorkQueue {
  readonly name: string;
  readonly #options: Required<WorkQueueOptions>;
  readonly #queued = new Set<string>();
  readonly #running = new Set<string>();
  /** Keys that were added while they ran. */
  readonly #addedMeanwhile = new Set<string>();
  readonly #delayed = new Map<string, { dueMs: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  readonly #drained = Promise.withResolvers<void>();
  readonly #retries: TokenBucket;
  #state: 'new' | 'started' | 'stopping' = 'new';

  constructor(options: WorkQueueOptions) {
    this.name = options.name;
    this.#options = {
      backoff: { baseMs: 50, maxMs: 300_000 },
      retryRate: { perSecond: 10, burst: 100 },
      clock: monotonicClock,
      random: Math.random,
      ...options,
    };
    this.#retries = new TokenBucket(this.#options.retryRate);
  }

  /** How many keys wait for a free worker; with `delayed`, a measure of how far behind the controller is. */
  get counts(): { queued: number; delayed: number; running: number } {
    return { queued: this.#queued.size, delayed: this.#delayed.size, running: this.#running.size };
  }

  /** Queues a key now, also one that was delayed. After `stop()` this does nothing. */
  add(key: string): void {
    if (this.#state === 'stopping') return;
    this.#undelay(key);
    if (this.#running.has(key)) this.#addedMeanwhile.add(key);
    else this.#queued.add(key);
    this.#work();
  }

  /** Queues a key after a delay; of several calls, and of `add`, the earliest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#state === 'stopping' || this.#queued.has(key) || this.#addedMeanwhile.has(key)) return;
    const { clock } = this.#options;
    const dueMs = clock.nowMs() + delayMs;
    const before = this.#delayed.get(key);
    if (before && before.dueMs <= dueMs) return;
    this.#undelay(key);
    this.#delayed.set(key, { dueMs, cancel: clock.after(delayMs, () => this.add(key)) });
  }

  /** Lets the workers begin; keys may be added before. */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error(`the work queue ${this.name} was started before`);
    this.#state = 'started';
    this.#work();
  }

  /**
   * Takes no more keys and drops the delayed ones. Queued keys still run, unless `queued` is `drop`, as after the loss
   * of a lease. Resolves when the last worker has ended.
   */
  async stop({ queued = 'run' }: { queued?: 'run' | 'drop' } = {}): Promise<void> {
    const hadStarted = this.#state !== 'new';
    this.#state = 'stopping';
    for (const key of this.#delayed.keys()) this.#undelay(key);
    if (queued === 'drop' || !hadStarted) {
      this.#queued.clear();
      this.#addedMeanwhile.clear();
    }
    this.#work();
    this.#settle();
    await this.#drained.promise;
  }

  #work(): void {
    if (this.#state === 'new') return;
    for (const key of this.#queued) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#queued.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    let requeue: Requeue;
    try {
      requeue = await this.#options.handle(key);
      this.#failures.delete(key);
    } catch (error) {
      requeue = { afterMs: this.#retryMs(key, error) };
    }
    this.#running.delete(key);
    if (this.#addedMeanwhile.delete(key)) this.#queued.add(key);
    else if (requeue) this.addAfter(key, requeue.afterMs);
    this.#work();
    this.#settle();
  }

  #retryMs(key: string, error: unknown): number {
    const { backoff, clock, random, log, name } = this.#options;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const rateMs = this.#retries.take(clock.nowMs());
    const afterMs = Math.max(backoffMs(failures, backoff, random), retryAfterMs, rateMs);
    log.warn({ err: error, queue: name, key, failures, retry_in_ms: Math.round(afterMs) }, 'reconcile failed');
    return afterMs;
  }

  #undelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #settle(): void {
    if (this.#state === 'stopping' && this.#running.size === 0 && this.#queued.size === 0) this.#drained.resolve();
  }
}
