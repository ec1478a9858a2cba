import type { MediaStore } from '#platform/postgres/media-store.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { JobDependencies } from '../dependencies.ts';

/** The dependencies of the work on rollouts. */
export interface RolloutDependencies extends Pick<
  JobDependencies,
  'jobs' | 'queue' | 'randomUuid' | 'log' | 'source' | 'config' | 'profiles'
> {
  readonly rollouts: RolloutStore;
  readonly library: MediaStore;
  readonly media: ObjectStore;
  /** While a bucket is away nothing starts, and no submission waits for a slot. */
  readonly isStorageAway: () => boolean;
}
