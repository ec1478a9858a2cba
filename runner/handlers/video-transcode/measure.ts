import { posix } from 'node:path';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { type Bandwidth, bandwidthOf, isUneven, type MeasuredSegment } from '#domain/media/bandwidth.ts';
import { parseMediaPlaylist, sharedTargetDuration, withTargetDuration } from '#domain/media/media-playlist.ts';
import type { TrackKind } from '#domain/media/revision-layout.ts';

/** A packaged playlist, measured. */
interface MeasuredPlaylist {
  readonly bandwidth: Bandwidth;
  readonly segmentCount: number;
  readonly durationSec: number;
}

/** The packaged tracks, measured, by id. */
export type MeasuredTracks = ReadonlyMap<string, MeasuredPlaylist>;

interface Track {
  readonly kind: TrackKind;
  readonly id: string;
}

/** The playlists of a stream by their paths in the revision, and the sizes of the segments that they name. */
export interface PackagedTexts {
  readonly playlists: ReadonlyMap<string, string>;
  readonly sizes: ReadonlyMap<string, number>;
}

/** Measures the playlist at `path` by the sizes of its segments. */
export function measurePlaylist(path: string, { playlists, sizes }: PackagedTexts): MeasuredPlaylist {
  const { targetDurationSec, segments } = parseMediaPlaylist(playlists.get(path) ?? '');
  const sized: MeasuredSegment[] = segments.map(({ uri, durationSec, rangeBytes }) => {
    const sizeBytes = rangeBytes ?? sizes.get(posix.join(posix.dirname(path), uri));
    if (sizeBytes === undefined) throw new Error(`the playlist ${path} names ${uri}, which was not packaged`);
    return { durationSec, sizeBytes };
  });
  const durationSec = sized.reduce((sum, segment) => sum + segment.durationSec, 0);
  return { bandwidth: bandwidthOf(sized, targetDurationSec), segmentCount: sized.length, durationSec };
}

export function bandwidthIn(measured: MeasuredTracks, id: string): Bandwidth {
  return measured.get(id)?.bandwidth ?? { average: 0, peak: 0 };
}

/** The media playlists, the I-frame ones included, with the same target duration. */
export function withSharedTarget(playlists: ReadonlyMap<string, string>): Map<string, string> {
  const targetSec = sharedTargetDuration([...playlists.values()].map(parseMediaPlaylist));
  return new Map([...playlists].map(([path, text]) => [path, withTargetDuration(text, targetSec)]));
}

/**
 * Warns of rungs with a peak of over twice their average, as in a video with little motion for most of its time. The
 * stream stays as it is: lower quality in busy parts or more bits in quiet ones would help no viewer.
 */
export function unevenWarnings(tracks: readonly Track[], measured: MeasuredTracks): Warning[] {
  const uneven = tracks.filter(({ kind, id }) => kind === 'video' && isUneven(bandwidthIn(measured, id)));
  if (uneven.length === 0) return [];
  const ids = uneven.map(({ id }) => id).join(', ');
  return [{ code: 'uneven_bitrate', message: `The bit rate peaks at over twice its average: ${ids}.` }];
}
