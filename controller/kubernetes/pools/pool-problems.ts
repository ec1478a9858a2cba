import { storageMessage } from '../plan/pod-problem.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';

interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** The last problem of each pool that prevented a job from running. */
export class PoolProblems {
  /** The problems of batches whose pod does not start, by id: no MediaJob shows them. */
  readonly ofBatches = new Map<string, Problem & { readonly pool: string }>();
  readonly #last = new Map<string, Problem>();

  note(pool: string, problem: Problem): void {
    this.#last.set(pool, problem);
  }

  /**
   * The problem that keeps the jobs of a pool from running: that of the storage, of a batch, or the last one while a
   * MediaJob of the pool shows it; '' without any.
   *
   * @param storageProblem null while the object storage answers
   */
  lastOf(pool: string, mediaJobs: Iterable<MediaJob>, storageProblem: string | null): string {
    if (storageProblem !== null) return `StorageUnavailable: ${storageMessage(storageProblem)}`;
    for (const { pool: own, reason, message } of this.ofBatches.values())
      if (own === pool) return `${reason}: ${message}`;
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
