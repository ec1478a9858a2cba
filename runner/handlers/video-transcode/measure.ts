import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { type Bandwidth, bandwidthOf, isUneven, type MeasuredSegment } from '#domain/media/bandwidth.ts';
import { parseMediaPlaylist, sharedTargetDuration, withTargetDuration } from '#domain/media/media-playlist.ts';
import { type TrackKind, trackPaths } from '#domain/media/revision-layout.ts';

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

/** Measures the playlist at `path` by the sizes of its segments. */
export async function measurePlaylist(path: string): Promise<MeasuredPlaylist> {
  const { targetDurationSec, segments } = parseMediaPlaylist(await readFile(path, 'utf8'));
  const sized: MeasuredSegment[] = [];
  for (const { uri, durationSec, rangeBytes } of segments) {
    sized.push({ durationSec, sizeBytes: rangeBytes ?? (await stat(join(dirname(path), uri))).size });
  }
  const durationSec = sized.reduce((sum, segment) => sum + segment.durationSec, 0);
  return { bandwidth: bandwidthOf(sized, targetDurationSec), segmentCount: sized.length, durationSec };
}

export function bandwidthIn(measured: MeasuredTracks, id: string): Bandwidth {
  return measured.get(id)?.bandwidth ?? { average: 0, peak: 0 };
}

/** Gives every media playlist of the stream, the I-frame ones included, the same target duration. */
export async function shareTargetDuration(tracks: readonly Track[], output: string): Promise<void> {
  const texts = new Map<string, string>();
  for (const { kind, id } of tracks) {
    const { playlist, iframePlaylist } = trackPaths(kind, id);
    for (const name of iframePlaylist === null ? [playlist] : [playlist, iframePlaylist]) {
      const path = join(output, name);
      texts.set(path, await readFile(path, 'utf8'));
    }
  }
  const targetSec = sharedTargetDuration([...texts.values()].map(parseMediaPlaylist));
  for (const [path, text] of texts) await writeFile(path, withTargetDuration(text, targetSec));
}

/**
 * Warns of rungs with a peak of over twice their average. A rate cap bounds the peak and not the average: a film with
 * little motion for most of its time stays far below the cap. The stream is left as it is, since lower quality in the
 * busy part or more bits in the quiet part would help no viewer.
 */
export function unevenWarnings(tracks: readonly Track[], measured: MeasuredTracks): Warning[] {
  const uneven = tracks.filter(({ kind, id }) => kind === 'video' && isUneven(bandwidthIn(measured, id)));
  if (uneven.length === 0) return [];
  const ids = uneven.map(({ id }) => id).join(', ');
  return [{ code: 'uneven_bitrate', message: `The bit rate peaks at over twice its average: ${ids}.` }];
}
