import { type Backoff, backoffMs } from './backoff.ts';
import { type Clock, monotonicClock } from './clock.ts';
import { KubeError } from './errors.ts';
import type { Log } from './log.ts';

// A queue of keys to look at, as controllers have them. A key is in one of these states, or in none:
//
//   delayed ──time──▶ queued ──free worker──▶ running ──▶ (forgotten)
//      ▲                 ▲                      │  │
//      │                 └── added meanwhile ───┘  │
//      └── after what the handler asks, or after a backoff when it threw
//
// A key is queued once however often it is added, and never runs twice at once: what happens while it runs makes it run
// once more afterwards. Nothing of it is kept but failures in a row; a crash loses the queue, and the first list of the
// reflectors fills it again.

/** What a handler asks for: nothing, or to look again after a while (in milliseconds). */
export type Again = { afterMs: number } | undefined | void;

/** How a work queue behaves. */
export interface WorkQueueOptions {
  name: string;
  /** Looks at one key. When it throws, it is called again after a backoff, and never before a server's Retry-After. */
  handle: (key: string) => Promise<Again>;
  /** How many keys run at once. */
  concurrency: number;
  log: Log;
  /** The waits of one key after failures in a row (50 ms, doubled, to 5 min). */
  backoff?: Backoff;
  /** How many retries of all keys together (10 a second, after a burst of 100): many keys may fail for one cause. */
  retryRate?: { perSecond: number; burst: number };
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
  /** When the budget of retries would be whole again (the virtual time of a leaky bucket). */
  #retriesPaidMs = 0;
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
  }

  /** How many keys wait for a free worker; with `delayed`, a measure of how far behind the controller is. */
  get counts(): { queued: number; delayed: number; running: number } {
    return { queued: this.#queued.size, delayed: this.#delayed.size, running: this.#running.size };
  }

  /** Wants a key looked at as soon as may be, also when it was to wait. After `stop()` this does nothing. */
  add(key: string): void {
    if (this.#state === 'stopping') return;
    this.#undelay(key);
    if (this.#running.has(key)) this.#addedMeanwhile.add(key);
    else this.#queued.add(key);
    this.#work();
  }

  /** Wants a key looked at after a while; of several such wishes, and of `add`, the earliest counts. */
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
   * Takes no key any more and forgets those that wait for a time. Keys that wait for a worker still run, unless they
   * are to be dropped, as when a lease is lost. Resolves when the last worker has ended.
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
    let again: Again;
    try {
      again = await this.#options.handle(key);
      this.#failures.delete(key);
    } catch (error) {
      again = { afterMs: this.#retryMs(key, error) };
    }
    this.#running.delete(key);
    if (this.#addedMeanwhile.delete(key)) this.#queued.add(key);
    else if (again) this.addAfter(key, again.afterMs);
    this.#work();
    this.#settle();
  }

  #retryMs(key: string, error: unknown): number {
    const { backoff, random, log, name } = this.#options;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const afterMs = Math.max(backoffMs(failures, backoff, random), askedMs, this.#retryBudgetMs());
    log.warn({ err: error, queue: name, key, failures, afterMs: Math.round(afterMs) }, 'a key failed and is retried');
    return afterMs;
  }

  // Each retry pushes the bucket's time on by its share; what goes beyond the burst is what must be waited.
  #retryBudgetMs(): number {
    const { clock, retryRate } = this.#options;
    const shareMs = 1000 / retryRate.perSecond;
    const nowMs = clock.nowMs();
    this.#retriesPaidMs = Math.max(this.#retriesPaidMs, nowMs) + shareMs;
    return Math.max(0, this.#retriesPaidMs - nowMs - retryRate.burst * shareMs);
  }

  #undelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #settle(): void {
    if (this.#state === 'stopping' && this.#running.size === 0 && this.#queued.size === 0) this.#drained.resolve();
  }
}
