import type { Job } from '#domain/jobs/job.ts';
import type { JobQueries } from '#platform/postgres/job-queries.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

interface Waiter {
  readonly id: string;
  readonly seen: Date;
  readonly resolve: (job: Job | null) => void;
}

/** How late a change may be told. */
const intervalMs = 500;

/**
 * Waits for changes of jobs on behalf of any number of clients, with one query each half second for all of them, and
 * none when nobody waits. A notification of the database would be faster, but does not pass through every pooler.
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

  /** True from `stop` on: nothing is told any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The job once it has changed since `seen`; null after `timeoutMs`, when `signal` aborts, or when this stops. */
  next(id: string, seen: Date, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<Job | null> {
    if (this.#isStopped || signal.aborted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<Job | null>();
    const waiter = { id, seen, resolve };
    const giveUp = () => resolve(null);
    const timer = setTimeout(giveUp, timeoutMs);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiters.add(waiter);
    this.#timer ??= setTimeout(() => void this.#look(), intervalMs);
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

  async #look(): Promise<void> {
    try {
      const waiters = [...this.#waiters];
      const changed = waiters.length === 0 ? [] : await this.#queries.changed(waiters);
      const jobs = new Map(changed.map((job) => [job.id, job]));
      for (const { id, seen, resolve } of waiters) {
        const job = jobs.get(id);
        if (job !== undefined && job.updatedAt > seen) resolve(job);
      }
    } catch (error) {
      // The database may be away for a while; those who wait go on waiting.
      this.#log.warn({ err: error }, 'changes of jobs cannot be read');
    }
    const isNeeded = this.#waiters.size > 0 && !this.#isStopped;
    this.#timer = isNeeded ? setTimeout(() => void this.#look(), intervalMs) : undefined;
  }
}
