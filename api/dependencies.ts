import type { PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import type { PlaybackStore } from '#platform/postgres/playback-store.ts';
import type { Config } from '#platform/config/config.ts';
import type { JobDependencies } from '#jobs/dependencies.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import type { MediaStore } from '#platform/postgres/media-store.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { Database } from '#platform/postgres/database.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';

/** The dependencies of the surface `api`. `main.ts` builds each of them and closes it after the server has stopped. */
export interface ApiDependencies extends Omit<JobDependencies, 'config'> {
  readonly config: JobDependencies['config'] &
    Pick<
      Config,
      | 'apiKeys'
      | 'apiRateLimitPerMinute'
      | 'batchRateLimitPerMinute'
      | 'console'
      | 'eventRules'
      | 'eventsTokens'
      | 'imports'
      | 'keyTokenSecret'
      | 'purgeHookUrl'
      | 'repairMissing'
      | 'source'
      | 'surfaces'
      | 'streamSecrets'
      | 'thumbSecrets'
      | 'webhookAllowedCidrs'
    >;
  readonly library: MediaStore;
  readonly playbackDays: PlaybackDayStore;
  readonly rollouts: RolloutStore;
  readonly playbacks: PlaybackStore;
  readonly deletions: MediaDeletionStore;
  readonly media: ObjectStore;
  readonly database: Database;
  /** Null where no uploads are accepted. */
  readonly uploads: UploadBucket | null;
  /** For lists of jobs alone. */
  readonly listDatabase: Database;
  /** The folder of the pages; the console is in its folder `console`. */
  readonly webDir: string;
}
