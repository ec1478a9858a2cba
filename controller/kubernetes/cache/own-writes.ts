import type { KubeObject, MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { trimMediaJob } from '../snapshots.ts';

/**
 * The statuses that this leader wrote and the cache does not show yet: what was written is not written again, and that
 * it arrives is no news.
 */
export class OwnWrites {
  /** MediaJobs as they were after our own last write, by key, until the cache is as new. */
  readonly #ahead = new Map<string, MediaJob>();
  readonly #writtenMs = new Map<string, number>();

  written(mediaJob: MediaJob, nowMs: number): void {
    this.#ahead.set(keyOf(mediaJob), trimMediaJob(mediaJob));
    this.#writtenMs.set(keyOf(mediaJob), nowMs);
  }

  /** The cache shows a MediaJob. Returns whether that is nothing but what was written here. */
  seen(mediaJob: MediaJob): boolean {
    const key = keyOf(mediaJob);
    const ahead = this.#ahead.get(key);
    if (ahead === undefined || !isAsNew(mediaJob, ahead)) return false;
    this.#ahead.delete(key);
    return versionOf(mediaJob) === versionOf(ahead);
  }

  forget(mediaJob: MediaJob): void {
    this.#ahead.delete(keyOf(mediaJob));
    this.#writtenMs.delete(keyOf(mediaJob));
  }

  /** The newer of what the cache shows and what was written. */
  newest(key: string, seen: MediaJob | undefined): MediaJob | undefined {
    const ahead = this.#ahead.get(key);
    // The answer to a write may come after the watch has told of it, and of what others wrote since.
    return ahead !== undefined && seen !== undefined && !isAsNew(seen, ahead) ? ahead : seen;
  }

  /** How long ago a status was written here, in milliseconds; very long, if never. */
  sinceMs(key: string, nowMs: number): number {
    return nowMs - (this.#writtenMs.get(key) ?? 0);
  }
}

function versionOf({ metadata }: KubeObject): bigint {
  return BigInt(metadata?.resourceVersion ?? 0);
}

/** Versions of one object are numbers that grow (Kubernetes 1.34 says so; before, they were so all the same). */
function isAsNew(seen: KubeObject, than: KubeObject): boolean {
  return seen.metadata?.uid !== than.metadata?.uid || versionOf(seen) >= versionOf(than);
}
