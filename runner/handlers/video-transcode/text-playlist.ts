import { access, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mediaPlaylist } from '#domain/media/media-playlist.ts';

/**
 * Makes the playlist of a packaged subtitle track as long as the video: the packager ends it with the last cue, which may
 * come early or pass the end. Segments that are missing hold no cue.
 */
export async function fitTextPlaylist(path: string, segmentSec: number, durationSec: number): Promise<void> {
  const segments: { uri: string; durationSec: number }[] = [];
  for (let fromSec = 0; fromSec < durationSec - 0.001; fromSec += segmentSec) {
    const uri = `seg_${segments.length + 1}.vtt`;
    const file = join(dirname(path), uri);
    await access(file).catch(() => writeFile(file, 'WEBVTT\n\n'));
    segments.push({ uri, durationSec: Math.min(segmentSec, durationSec - fromSec) });
  }
  await writeFile(path, mediaPlaylist(segments));
}
