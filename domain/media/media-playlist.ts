/** One entry of a media playlist. */
export interface PlaylistSegment {
  readonly uri: string;
  readonly durationSec: number;
  /** The number of bytes, where the entry is a part of `uri` (`EXT-X-BYTERANGE`). */
  readonly rangeBytes?: number;
}

export interface MediaPlaylist {
  readonly targetDurationSec: number;
  readonly segments: readonly PlaylistSegment[];
}

/** Reads the target duration and the segments of a media playlist (RFC 8216, section 4.3). */
export function parseMediaPlaylist(text: string): MediaPlaylist {
  const segments: PlaylistSegment[] = [];
  let targetDurationSec = 0;
  let durationSec = 0;
  let rangeBytes: number | undefined;
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line.startsWith('#EXT-X-TARGETDURATION:')) targetDurationSec = Number(line.slice(line.indexOf(':') + 1));
    else if (line.startsWith('#EXTINF:')) durationSec = Number.parseFloat(line.slice('#EXTINF:'.length));
    else if (line.startsWith('#EXT-X-BYTERANGE:')) rangeBytes = Number.parseInt(line.slice(line.indexOf(':') + 1), 10);
    else if (line !== '' && !line.startsWith('#')) {
      segments.push({ uri: line, durationSec, ...(rangeBytes === undefined ? {} : { rangeBytes }) });
      rangeBytes = undefined;
    }
  }
  return { targetDurationSec, segments };
}

/**
 * The playlist with another target duration. The packager rounds each track's longest segment up, so audio would have a
 * longer target than video; RFC 8216 (section 4.3.3.1) requires the nearest whole second of the longest segment.
 */
export function withTargetDuration(text: string, targetDurationSec: number): string {
  return text.replace(/^#EXT-X-TARGETDURATION:\d+/m, `#EXT-X-TARGETDURATION:${targetDurationSec}`);
}

/** The target duration that all tracks of a stream share. */
export function sharedTargetDuration(playlists: readonly MediaPlaylist[]): number {
  const longestSec = Math.max(...playlists.flatMap(({ segments }) => segments.map(({ durationSec }) => durationSec)));
  return Math.max(1, Math.round(longestSec));
}
