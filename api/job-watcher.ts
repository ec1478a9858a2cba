import type { ShownJob } from '#domain/jobs/job.ts';
import type { JobQueries } from '#platform/postgres/job-queries.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

interface Waiter {
  readonly id: string;
  readonly since: Date;
  readonly resolve: (job: ShownJob | null) => void;
}

/** The longest delay before a change is reported. */
const intervalMs = 500;

/**
 * Waits for changes of jobs on behalf of any number of clients: one query each half second for all of them, and no
 * query without clients. A notification of the database would be faster, but does not pass through every pooler.
 */
export class JobWatcher {
  readonly #queries: JobQueries;
  readonly #log: Logger;
  readonly #waiters = new Set<Waiter>();
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

  /** The job once it has changed since `since`; null after `timeoutMs`, when `signal` aborts, or when this stops. */
  next(
    id: string,
    since: Date,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<ShownJob | null> {
    if (this.#isStopped || signal.aborted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<ShownJob | null>();
    const waiter = { id, since, resolve };
    const giveUp = () => resolve(null);
    const timer = setTimeout(giveUp, timeoutMs);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiters.add(waiter);
    this.#timer ??= setTimeout(() => void this.#poll(), intervalMs);
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      this.#waiters.delete(waiter);
    });
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const { resolve } of this.#waiters) resolve(null);
  }

  async #poll(): Promise<void> {
    try {
      const waiters = [...this.#waiters];
      const changed = waiters.length === 0 ? [] : await this.#queries.changed(waiters);
      const jobs = new Map(changed.map((job) => [job.id, job]));
      for (const { id, since, resolve } of waiters) {
        const job = jobs.get(id);
        if (job !== undefined && job.updatedAt > since) resolve(job);
      }
    } catch (error) {
      // The database may be away for a while; the clients go on waiting.
      this.#log.warn({ err: error }, 'job change query failed');
    }
    const isNeeded = this.#waiters.size > 0 && !this.#isStopped;
    this.#timer = isNeeded ? setTimeout(() => void this.#poll(), intervalMs) : undefined;
  }
}
