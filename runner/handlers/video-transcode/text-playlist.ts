import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mediaPlaylist } from '#domain/media/media-playlist.ts';

/** Cue times count from the first frame, which is at 0 in the segments of every track (RFC 8216, section 3.5). */
const timestampMap = 'X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000';

/**
 * Makes the playlist of a packaged subtitle track as long as the video: the packager ends it with the last cue, before
 * or after the video's end. Added segments have no cue. Every segment gets its timestamp map.
 */
export async function fitTextPlaylist(path: string, segmentSec: number, durationSec: number): Promise<void> {
  const segments: { uri: string; durationSec: number }[] = [];
  for (let fromSec = 0; fromSec < durationSec - 0.001; fromSec += segmentSec) {
    const uri = `seg_${segments.length + 1}.vtt`;
    const file = join(dirname(path), uri);
    const packaged = await readFile(file, 'utf8').catch(() => 'WEBVTT\n\n');
    await writeFile(
      file,
      packaged.replace(/^WEBVTT.*\n/, (header) => `${header}${timestampMap}\n`),
    );
    segments.push({ uri, durationSec: Math.min(segmentSec, durationSec - fromSec) });
  }
  await writeFile(path, mediaPlaylist(segments));
}
