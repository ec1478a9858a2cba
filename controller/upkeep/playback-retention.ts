import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { RetentionStore } from '#platform/postgres/retention-store.ts';
import { inPages } from './due-rows.ts';

interface PlaybackRetentionDependencies {
  readonly retention: Pick<RetentionStore, 'deletePlaybackDays'>;
  /** `PLAYBACK_RETENTION`. */
  readonly playbackRetentionMs: number;
}

/** Deletes digests of playback that are older than their retention. */
export function playbackRetentionTask({ retention, playbackRetentionMs }: PlaybackRetentionDependencies): PeriodicTask {
  return {
    name: 'playback retention',
    work: (signal) =>
      inPages((limit) => retention.deletePlaybackDays({ retentionMs: playbackRetentionMs, limit }), signal),
  };
}
