import { setTimeout as sleep } from 'node:timers/promises';
import { hasReason } from '#platform/kubernetes/errors.ts';
import type { jobs } from '#platform/kubernetes/objects.ts';

type Job = NonNullable<(typeof jobs)['example']>;

/** A test that watches the Jobs of its namespace. */
export interface JobWatch {
  /**
   * Ends the watch, and waits for the read in progress: the client may be closed then. Throws what went wrong until
   * now, but for Jobs that were deleted.
   */
  stop(): Promise<void>;
}

/** Calls `take` for each Job that comes up, once, until it is stopped. */
export function watchJobs(
  node: { readonly jobs: () => Promise<readonly Job[]> },
  take: (job: Job) => Promise<unknown>,
): JobWatch {
  const stopping = new AbortController();
  const faults: unknown[] = [];
  const note = (error: unknown) => {
    if (!stopping.signal.aborted && !hasReason(error, 'NotFound')) faults.push(error);
  };
  const seen = new Set<string>();
  const watch = async () => {
    while (!stopping.signal.aborted) {
      for (const job of await node.jobs()) {
        const { uid = '' } = job.metadata ?? {};
        if (seen.has(uid)) continue;
        seen.add(uid);
        take(job).catch(note);
      }
      await sleep(50);
    }
  };
  const watching = watch().catch(note);
  return {
    async stop() {
      stopping.abort();
      await watching;
      if (faults.length > 0) throw new AggregateError(faults, 'the Jobs of the namespace could not be played');
    },
  };
}
