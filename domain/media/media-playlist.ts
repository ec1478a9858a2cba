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

/**
 * Reads the target duration and the segments of a media playlist (RFC 8216, section 4.3).
 *
 * @throws TypeError for text in the place of a number
 */
export function parseMediaPlaylist(text: string): MediaPlaylist {
  const segments: PlaylistSegment[] = [];
  let targetDurationSec = 0;
  let durationSec = 0;
  let rangeBytes: number | undefined;
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line.startsWith('#EXT-X-TARGETDURATION:')) targetDurationSec = numberIn(line);
    else if (line.startsWith('#EXTINF:')) durationSec = numberIn(line);
    else if (line.startsWith('#EXT-X-BYTERANGE:')) rangeBytes = numberIn(line);
    else if (line !== '' && !line.startsWith('#')) {
      segments.push({ uri: line, durationSec, ...(rangeBytes === undefined ? {} : { rangeBytes }) });
      rangeBytes = undefined;
    }
  }
  return { targetDurationSec, segments };
}

/** The number behind the name of a tag. */
function numberIn(line: string): number {
  const digits = /^#[A-Z-]+:(\d{1,15}(?:\.\d{1,15})?)(?=[,@]|$)/.exec(line)?.[1];
  if (digits === undefined) throw new TypeError(`expected a number in a media playlist, found ${line.slice(0, 80)}`);
  return Number(digits);
}

/**
 * The playlist with another target duration. The packager rounds the longest segment up, so audio would have a longer
 * target than video; RFC 8216 (section 4.3.3.1) asks for the nearest whole second.
 */
export function withTargetDuration(text: string, targetDurationSec: number): string {
  return text.replace(/^#EXT-X-TARGETDURATION:\d+/m, `#EXT-X-TARGETDURATION:${targetDurationSec}`);
}

/** The target duration that all tracks of a stream share. */
export function sharedTargetDuration(playlists: readonly MediaPlaylist[]): number {
  let longestSec = 0;
  for (const { segments } of playlists)
    for (const { durationSec } of segments) longestSec = Math.max(longestSec, durationSec);
  return Math.max(1, Math.round(longestSec));
}

/** Joins the playlists of chunks, in order: the head of the first, and every segment. */
export function joinPlaylists(chunks: readonly string[]): string {
  const [first = ''] = chunks;
  const segments = chunks.flatMap((text) => text.slice(segmentsAt(text)).split('\n'));
  const lines = segments.filter((line) => line !== '' && line !== '#EXT-X-ENDLIST');
  return `${first.slice(0, segmentsAt(first))}${lines.join('\n')}\n#EXT-X-ENDLIST\n`;
}

/**
 * An I-frame playlist with the byte ranges of the segments that are stored.
 *
 * @param rangesOf the key frames of a segment; null keeps the ranges of the playlist
 */
export function withByteRanges(
  text: string,
  rangesOf: (uri: string) => readonly { readonly offset: number; readonly bytes: number }[] | null,
): string {
  const used = new Map<string, number>();
  return text.replaceAll(/^#EXT-X-BYTERANGE:.*\n(.+)/gm, (entry, uri: string) => {
    const index = used.get(uri) ?? 0;
    used.set(uri, index + 1);
    const ranges = rangesOf(uri);
    if (ranges === null) return entry;
    const range = ranges[index];
    if (range === undefined) throw new TypeError(`the segment ${uri} has ${ranges.length} key frames`);
    return `#EXT-X-BYTERANGE:${range.bytes}@${range.offset}\n${uri}`;
  });
}

function segmentsAt(text: string): number {
  const at = text.search(/^#EXTINF:/m);
  return at === -1 ? text.length : at;
}

/** A media playlist of whole segments without an init segment. */
export function mediaPlaylist(segments: readonly PlaylistSegment[]): string {
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:6',
    `#EXT-X-TARGETDURATION:${sharedTargetDuration([{ targetDurationSec: 0, segments }])}`,
    '#EXT-X-PLAYLIST-TYPE:VOD',
    ...segments.flatMap(({ uri, durationSec }) => [`#EXTINF:${durationSec.toFixed(3)},`, uri]),
    '#EXT-X-ENDLIST',
    '',
  ].join('\n');
}
