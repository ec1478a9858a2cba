import type { JobResults } from './index.ts';

/** How long the media of results are, in milliseconds. */
export interface MediaTime {
  /** The source. */
  readonly sourceMs: number;
  /** All renditions together: of a source without video, its audio. */
  readonly outputMs: number;
}

/** Null for results without a stream: an image takes no time. */
export function mediaTimeOf(results: JobResults | null): MediaTime | null {
  if (results === null || !('source' in results) || results.source === undefined) return null;
  const sourceMs = Math.round(results.source.duration_sec * 1000);
  const { video_tracks: tracks = [] } = results;
  return { sourceMs, outputMs: sourceMs * Math.max(1, tracks.length) };
}
