import type { VideoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import {
  chaptersPath,
  dashManifestPath,
  masterPath,
  storyboardPaths,
  type TrackKind,
  trackPaths,
  waveformPath,
} from '#domain/media/revision-layout.ts';
import type { PublishContext } from '../job-handler.ts';
import type { Encoded } from './encoded.ts';
import { bandwidthIn, type MeasuredTracks } from './measure.ts';
import { waveformSize } from './waveform.ts';

/** The results of a packaged stream. */
export function transcodeResults(
  encoded: Encoded & { readonly waveformBytes: number | null },
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
      revision_playlist: videoKey(task.hash, task.rev, masterPath),
      dash_manifest: videoKey(task.hash, task.rev, dashManifestPath),
      default_audio_track_id: encoded.audio.find(({ isDefault }) => isDefault)?.id ?? null,
    },
    audio_tracks: encoded.audio.map(({ id, role, language, channels, loudness }) => ({
      id,
      role,
      language: language ?? 'und',
      codec: 'aac',
      channels,
      ...published('audio', id),
      loudness,
    })),
    video_tracks: encoded.video.map(({ id, codec, range, width, height, quality }) => ({
      id,
      codec,
      hdr: range === 'sdr' ? ('none' as const) : range,
      width,
      height,
      ...published('video', id),
      ...(quality === undefined ? {} : { quality }),
      audio_track_ids: audioIds,
    })),
    text_tracks: encoded.text.map(({ id, language, name, isForced, isHearingImpaired }) => ({
      id,
      codec: 'webvtt' as const,
      language: language ?? 'und',
      name,
      forced: isForced,
      hearing_impaired: isHearingImpaired,
      playlist: videoKey(task.hash, task.rev, trackPaths('text', id).playlist),
      segment_count: measured.get(id)?.segmentCount ?? 0,
    })),
    ...(encoded.waveformBytes === null ? {} : { waveform: waveformResults(encoded.waveformBytes, task) }),
    ...(encoded.hasStoryboard ? { storyboard: storyboardResults(task) } : {}),
    ...(encoded.chapters.length === 0 ? {} : { chapters: chapterResults(encoded.chapters, task) }),
    ...(encryption === null ? {} : { encryption: encryptionResults(encryption) }),
    source: encoded.source,
    warnings: encoded.warnings,
  };
}

function encryptionResults({ contentKey, keyEndpoint }: NonNullable<PublishContext['encryption']>) {
  return { scheme: 'cbcs' as const, kid: contentKey.kid, key_endpoint: keyEndpoint };
}

function storyboardResults({ hash, rev }: PublishContext['task']) {
  const { playlist, cues } = storyboardPaths;
  return { playlist: videoKey(hash, rev, playlist), cues: videoKey(hash, rev, cues) };
}

function waveformResults(size: number, { hash, rev }: PublishContext['task']) {
  return { key: videoKey(hash, rev, waveformPath), format: 'webp' as const, ...waveformSize, size };
}

function chapterResults(chapters: Encoded['chapters'], { hash, rev }: PublishContext['task']) {
  return {
    cues: videoKey(hash, rev, chaptersPath),
    list: chapters.map(({ startSec, endSec, title }) => ({
      start_sec: Number(startSec.toFixed(3)),
      end_sec: Number(endSec.toFixed(3)),
      title,
    })),
  };
}
