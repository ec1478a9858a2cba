import type { KubeObject, MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { trimMediaJob } from '../snapshots/media-job.ts';

/**
 * The statuses that this leader wrote and the cache does not show yet. They are not written again, and their arrival
 * causes no reconcile.
 */
export class OwnWrites {
  /** MediaJobs after our own last write, by key, until the cache is as new. */
  readonly #ahead = new Map<string, MediaJob>();
  readonly #writtenMs = new Map<string, number>();
  readonly #trim: (mediaJob: MediaJob) => MediaJob;

  /** `trim` reduces a MediaJob as the cache does. */
  constructor(trim = trimMediaJob) {
    this.#trim = trim;
  }

  written(mediaJob: MediaJob, nowMs: number): void {
    this.#ahead.set(keyOf(mediaJob), this.#trim(mediaJob));
    this.#writtenMs.set(keyOf(mediaJob), nowMs);
  }

  /** The cache shows a MediaJob. Returns whether it holds no change but the one written here. */
  arrived(mediaJob: MediaJob): boolean {
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

  /** The newer one of the cached and the written MediaJob. */
  newest(key: string, cached: MediaJob | undefined): MediaJob | undefined {
    const ahead = this.#ahead.get(key);
    // The answer to a write may come after the watch event of it, and of later writes by others.
    return ahead !== undefined && cached !== undefined && !isAsNew(cached, ahead) ? ahead : cached;
  }

  /** The time since this process last wrote the status, in milliseconds; very long if it never did. */
  sinceMs(key: string, nowMs: number): number {
    return nowMs - (this.#writtenMs.get(key) ?? 0);
  }
}

function versionOf({ metadata }: KubeObject): bigint {
  return BigInt(metadata?.resourceVersion ?? 0);
}

/** Versions of one object are growing numbers (documented since Kubernetes 1.34, and true before). */
function isAsNew(cached: KubeObject, than: KubeObject): boolean {
  return cached.metadata?.uid !== than.metadata?.uid || versionOf(cached) >= versionOf(than);
}
