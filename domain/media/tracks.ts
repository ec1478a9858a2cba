/** Track ids (docs/reference/media.md, "Ladder" and "Audio"). */

/** `r<height>_<codec>`; the height as written, in pixels. */
export function videoTrackId(height: number, codec: string): string {
  return `r${height}_${codec}`;
}

/**
 * `audio_<language>_<codec>_<channels>ch` for each track, in order; an id that is taken gets `_2`, `_3`, ….
 *
 * @param tracks `language` is an RFC 5646 tag, `und` where the source states none
 */
export function audioTrackIds(tracks: readonly { language: string; codec: string; channels: number }[]): string[] {
  const seen = new Map<string, number>();
  return tracks.map(({ language, codec, channels }) => {
    const id = `audio_${language}_${codec}_${channels}ch`;
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return count === 1 ? id : `${id}_${count}`;
  });
}
