import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { PodProblem } from '../reconcile/pod-problem.ts';

const heldUpPhases: readonly (string | undefined)[] = ['unschedulable', 'image_unavailable', 'quota_exceeded'];

/** What last kept a job of each pool from running. */
export class PoolProblems {
  readonly #last = new Map<string, string>();

  note(pool: string, { reason, message }: PodProblem): void {
    this.#last.set(pool, `${reason}: ${message}`);
  }

  /** The trouble of a pool while any of its MediaJobs is held up; '' otherwise. */
  lastOf(pool: string, mediaJobs: Iterable<MediaJob>): string {
    for (const { status } of mediaJobs) {
      if (status?.pool === pool && heldUpPhases.includes(status.phase)) return this.#last.get(pool) ?? '';
    }
    return '';
  }
}
