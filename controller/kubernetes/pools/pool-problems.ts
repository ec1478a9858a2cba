import type { MediaJob } from '#platform/kubernetes/objects.ts';

interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** The last problem that kept a job of each pool from running. */
export class PoolProblems {
  readonly #last = new Map<string, Problem>();

  note(pool: string, problem: Problem): void {
    this.#last.set(pool, problem);
  }

  /** The last problem of a pool while one of its MediaJobs shows it; '' otherwise. */
  lastOf(pool: string, mediaJobs: Iterable<MediaJob>): string {
    const last = this.#last.get(pool);
    if (last === undefined) return '';
    for (const { status } of mediaJobs) {
      const isShown = status?.conditions?.some(
        ({ type, status: state, reason }) => type === 'Progressing' && state === 'False' && reason === last.reason,
      );
      if (status?.pool === pool && isShown === true) return `${last.reason}: ${last.message}`;
    }
    return '';
  }
}
