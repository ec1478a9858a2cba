import { SharedCalls } from '#platform/concurrency/shared-calls.ts';
import type { JobQueries, WatchedJob } from '#platform/postgres/job-queries.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { JobEvent } from './job-event.ts';

interface Waiter extends WatchedJob {
  readonly resolve: (event: JobEvent | null) => void;
}

/** The longest delay before a change is reported. */
const intervalMs = 500;

/**
 * Waits for changes of jobs on behalf of any number of clients: one query each half second for all of them, and no
 * query without clients. It asks for each job once and makes one event of it, however many clients wait for it. A
 * notification of the database would be faster, but does not pass through every pooler.
 */
export class JobWatcher {
  readonly #queries: JobQueries;
  readonly #log: Logger;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #reads = new SharedCalls<JobEvent | null>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor({ queries, log }: { readonly queries: JobQueries; readonly log: Logger }) {
    this.#queries = queries;
    this.#log = log;
  }

  /** True from `stop` on: no change is reported any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** How many jobs are waited for. */
  get size(): number {
    return this.#waiters.size;
  }

  /** The job's state now; null when there is none. Those who ask at once share one read. */
  current(id: string, hasResults: boolean): Promise<JobEvent | null> {
    return this.#reads.run(`${id} ${hasResults}`, async () => {
      const job = await this.#queries.find(id, hasResults);
      return job === null ? null : new JobEvent(job);
    });
  }

  /** The job once it has changed since `since`; null after `timeoutMs`, when `signal` aborts, or when this stops. */
  next(
    watched: WatchedJob,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<JobEvent | null> {
    if (this.#isStopped || signal.aborted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<JobEvent | null>();
    const waiter = { ...watched, resolve };
    const giveUp = () => resolve(null);
    const timer = setTimeout(giveUp, timeoutMs);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#add(waiter);
    this.#timer ??= setTimeout(() => void this.#poll(), intervalMs);
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      this.#remove(waiter);
    });
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const { resolve } of this.#all()) resolve(null);
  }

  #add(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.id) ?? new Set();
    this.#waiters.set(waiter.id, waiters.add(waiter));
  }

  #remove(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.id);
    if (waiters?.delete(waiter) === true && waiters.size === 0) this.#waiters.delete(waiter.id);
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flatMap((waiters) => [...waiters]);
  }

  async #poll(): Promise<void> {
    try {
      // Those who come during the query may want more than it reads.
      const waiters = this.#all();
      const changed = waiters.length === 0 ? [] : await this.#queries.changed(watchedJobsOf(waiters));
      const events = new Map(changed.map((job) => [job.id, new JobEvent(job)]));
      for (const { id, since, resolve } of waiters) {
        const event = events.get(id);
        if (event !== undefined && event.updatedAt > since) resolve(event);
      }
    } catch (error) {
      // The database may be away for a while; the clients go on waiting.
      this.#log.warn({ err: error }, 'job change query failed');
    }
    const isNeeded = this.#waiters.size > 0 && !this.#isStopped;
    this.#timer = isNeeded ? setTimeout(() => void this.#poll(), intervalMs) : undefined;
  }
}

/** Each job once: since the earliest state that a waiter knows, and with results when one of them wants these. */
function watchedJobsOf(waiters: readonly WatchedJob[]): WatchedJob[] {
  const watched = new Map<string, WatchedJob>();
  for (const { id, since, hasResults } of waiters) {
    const other = watched.get(id) ?? { since, hasResults };
    const earliest = other.since < since ? other.since : since;
    watched.set(id, { id, since: earliest, hasResults: hasResults || other.hasResults });
  }
  return [...watched.values()];
}
