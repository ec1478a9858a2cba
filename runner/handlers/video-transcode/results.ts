import type { VideoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { type TrackKind, trackPaths } from '#domain/media/revision-layout.ts';
import type { PublishContext } from '../job-handler.ts';
import type { Encoded } from './encoded.ts';
import { bandwidthIn, type MeasuredTracks } from './measure.ts';

/** The results of a packaged stream. */
export function transcodeResults(
  encoded: Encoded,
  measured: MeasuredTracks,
  { task, encryption }: Pick<PublishContext, 'task' | 'encryption'>,
): VideoTranscodeResults {
  const published = (kind: TrackKind, id: string) => ({
    bitrate: Math.max(1, bandwidthIn(measured, id).average),
    playlist: videoKey(task.hash, task.rev, trackPaths(kind, id).playlist),
    init: videoKey(task.hash, task.rev, trackPaths(kind, id).init),
    segment_count: measured.get(id)?.segmentCount ?? 0,
  });
  const audioIds = encoded.audio.map(({ id }) => id);
  return {
    streaming: {
      protocol: 'hls',
      container: 'cmaf',
      encrypted: encryption !== null,
      master_playlist: masterKey(task.hash),
      default_audio_track_id: encoded.audio.find(({ isDefault }) => isDefault)?.id ?? null,
    },
    audio_tracks: encoded.audio.map(({ id, role, language }) => ({
      id,
      role,
      language: language ?? 'und',
      codec: 'aac',
      channels: 2,
      ...published('audio', id),
    })),
    video_tracks: encoded.video.map(({ id, width, height }) => ({
      id,
      codec: 'h264',
      width,
      height,
      ...published('video', id),
      audio_track_ids: audioIds,
    })),
    ...(encryption === null ? {} : { encryption: encryptionResults(encryption) }),
    source: encoded.source,
    warnings: encoded.warnings,
  };
}

function encryptionResults({ contentKey, keyEndpoint }: NonNullable<PublishContext['encryption']>) {
  return { scheme: 'cbcs' as const, kid: contentKey.kid, key_endpoint: keyEndpoint };
}
