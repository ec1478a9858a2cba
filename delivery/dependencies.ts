import type { Config } from '#platform/config/config.ts';
import type { ImageProcessor } from '#platform/images/image-processor.ts';
import type { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import type { DeliveredStore } from '#platform/postgres/delivered-store.ts';
import type { PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import type { PlaybackStore } from '#platform/postgres/playback-store.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

/**
 * The dependencies of the surface `delivery`. `main.ts` builds each and closes it after the server has stopped.
 */
export interface DeliveryDependencies {
  readonly config: Pick<
    Config,
    | 'keyTokenSecret'
    | 'thumbSecrets'
    | 'thumbPresets'
    | 'thumbUnsigned'
    | 'thumbSources'
    | 'streamSecrets'
    | 'keyRateLimitPerMinute'
    | 'deliveryCacheBytesMax'
    | 'streamMutableCacheControl'
    | 'playbackFigures'
    | 'streamBytesPerHour'
  >;
  readonly contentKeys: ContentKeyStore;
  readonly playbackDays: PlaybackDayStore;
  readonly delivered: Pick<DeliveredStore, 'add'>;
  readonly deletedMedia: DeletedMediaStore;
  readonly playbacks: Pick<PlaybackStore, 'find' | 'all' | 'changed'>;
  readonly media: ObjectStore;
  /** Sources that are shown as images; null where none are. */
  readonly imageSource: ObjectStore | null;
  readonly images: ImageProcessor;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: () => Date;
  /** The folder of the player page. */
  readonly webDir: string;
}
