import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parseMediaPlaylist } from '#domain/media/media-playlist.ts';
import { runTool } from '../../testing/media.ts';
import { removeRigs, run, type RunnerRig, runnerRig } from '../../testing/runner.ts';

// Subtitles of a source as WebVTT beside the stream: by ffmpeg and the packager, read back from the segments.

const folders: string[] = [];
afterAll(async () => {
  await removeRigs();
  for (const folder of folders) await rm(folder, { recursive: true });
});

const srt = `1
00:00:01,000 --> 00:00:03,000
Früh & <i>schräg</i>

2
00:00:07,500 --> 00:00:08,500
Later

3
00:00:59,000 --> 00:01:00,000
After the end
`;
const picture =
  '-f lavfi -i testsrc2=s=128x72:r=25:d=20 -i a.srt -i a.srt -map 0 -map 1 -map 2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p';

async function source(name: string, args: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-subtitles-'));
  folders.push(folder);
  await writeFile(join(folder, 'a.srt'), srt);
  await runTool('ffmpeg', ['-v', 'error', '-y', ...`${picture} ${args} ${name}`.split(' ')], folder);
  return join(folder, name);
}

async function segmentsOf(rig: RunnerRig, playlist: string): Promise<{ text: string; durationSec: number }[]> {
  const { segments } = parseMediaPlaylist(await readFile(rig.at(playlist), 'utf8'));
  const read = async ({ uri, durationSec }: { uri: string; durationSec: number }) => ({
    text: await readFile(join(rig.at(dirname(playlist)), uri), 'utf8'),
    durationSec,
  });
  return await Promise.all(segments.map(read));
}

it.each([
  [
    'mkv',
    '-c:s:0 srt -c:s:1 ass -metadata:s:s:0 language=ger -metadata:s:s:1 language=eng -disposition:s:0 forced -disposition:s:1 hearing_impaired',
    [true, true],
  ],
  ['mp4', '-c:s mov_text -metadata:s:s:0 language=ger -metadata:s:s:1 language=eng', [false, false]],
] as const)(
  'C2.62: subtitles of an %s are WebVTT renditions with language and flags, cues at their times',
  async (ext, args, flags) => {
    const rig = await runnerRig('video:transcode', await source(`film.${ext}`, args), { encrypt: false });
    const { stderr } = await run(rig);
    const results = (await rig.manifest())?.results;
    const tracks = results?.text_tracks ?? [];
    expect(
      tracks.map(({ id, language, name, segment_count: count }) => [id, language, name, count]),
      stderr,
    ).toEqual([
      ['text_de', 'de', 'German', 4],
      ['text_en', 'en', 'English', 4],
    ]);
    expect([tracks[0]?.forced, tracks[1]?.hearing_impaired]).toEqual(flags);
    expect(results?.warnings).toEqual([]);
    for (const { playlist } of tracks) {
      const segments = await segmentsOf(rig, playlist);
      // As long as the video; the cue after its end is left out.
      expect(segments.map(({ durationSec }) => durationSec)).toEqual([6, 6, 6, 2]);
      expect(segments[0]?.text).toMatch(/^WEBVTT\n[^]*00:00:01\.000 --> 00:00:03\.000.*\nFrüh & <i>schräg<\/i>/);
      expect(segments[1]?.text).toMatch(/00:00:07\.500 --> 00:00:08\.500.*\nLater/);
      expect(segments.slice(2).map(({ text }) => text.trim())).toEqual(['WEBVTT', 'WEBVTT']);
    }
    const folder = rig.at(dirname(dirname(dirname(tracks[0]?.playlist ?? ''))));
    const master = await readFile(join(folder, 'master.m3u8'), 'utf8');
    expect(master).toContain(`LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,FORCED=${flags[0] ? 'YES' : 'NO'}`);
    expect(master).toContain('SUBTITLES="text"');
    expect(await readFile(join(folder, 'manifest.mpd'), 'utf8')).toContain('mimeType="text/vtt"');
  },
);
