import type { MediaJob } from '#platform/kubernetes/objects.ts';

/** The phases of a MediaJob that a problem keeps from running. */
const problemPhases: readonly (string | undefined)[] = ['unschedulable', 'image_unavailable', 'quota_exceeded'];

/** The last problem that kept a job of each pool from running. */
export class PoolProblems {
  readonly #last = new Map<string, string>();

  note(pool: string, { reason, message }: { readonly reason: string; readonly message: string }): void {
    this.#last.set(pool, `${reason}: ${message}`);
  }

  /** The last problem of a pool while one of its MediaJobs has a problem; '' otherwise. */
  lastOf(pool: string, mediaJobs: Iterable<MediaJob>): string {
    for (const { status } of mediaJobs) {
      if (status?.pool === pool && problemPhases.includes(status.phase)) return this.#last.get(pool) ?? '';
    }
    return '';
  }
}
