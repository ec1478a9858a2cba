import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseMediaPlaylist } from '#domain/media/media-playlist.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { type Caption, captionedVideo, sccOf } from '../../testing/captions.ts';
import { split } from '../../testing/chunked.ts';
import { runTool } from '../../testing/media.ts';
import { keyEnvironment, removeRigs, type RunnerRig, runnerRig, runToResult } from '../../testing/runner.ts';

// Subtitles of a source as WebVTT beside the stream: by ffmpeg and the packager, read back from the segments.

const folders: string[] = [];
afterAll(async () => {
  await removeRigs();
  for (const folder of folders) await rm(folder, { recursive: true });
});

const srt = `1
00:00:01,000 --> 00:00:03,000
Früh & <i>schräg</i>
So --> I <3 it

2
00:00:07,500 --> 00:00:08,500
Later

3
00:00:59,000 --> 00:01:00,000
After the end
`;
const pattern =
  '-f lavfi -i testsrc2=s=128x72:r=25:d=20 -i a.srt -i a.srt -map 0 -map 1 -map 2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p';

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-subtitles-'));
  folders.push(folder);
  return folder;
}

async function source(name: string, args: string): Promise<string> {
  const folder = await newFolder();
  await writeFile(join(folder, 'a.srt'), srt);
  await runTool('ffmpeg', ['-v', 'error', '-y', ...`${pattern} ${args} ${name}`.split(' ')], folder);
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

/** The beginning of every segment. */
const header = 'WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000';

it.each([
  [
    'mkv',
    '-c:s:0 srt -c:s:1 ass -metadata:s:s:0 language=ger -metadata:s:s:1 language=eng -disposition:s:0 forced -disposition:s:1 hearing_impaired',
    [true, true],
  ],
  ['mp4', '-c:s mov_text -metadata:s:s:0 language=ger -metadata:s:s:1 language=eng', [false, false]],
] as const)(
  'C14.13: subtitles of an %s are WebVTT renditions with language and flags, cues at their times',
  async (ext, args, flags) => {
    const rig = await runnerRig('video:transcode', await source(`clip.${ext}`, args), { encrypt: false });
    const { results } = await runToResult(rig);
    const tracks = results.text_tracks ?? [];
    expect(tracks.map(({ id, language, name, segment_count: count }) => [id, language, name, count])).toEqual([
      ['text_de', 'de', 'German', 4],
      ['text_en', 'en', 'English', 4],
    ]);
    expect([tracks[0]?.forced, tracks[1]?.hearing_impaired]).toEqual(flags);
    expect(results.warnings).toEqual([]);
    for (const { playlist } of tracks) {
      const segments = await segmentsOf(rig, playlist);
      // As long as the video; the cue after its end is left out.
      expect(segments.map(({ durationSec }) => durationSec)).toEqual([6, 6, 6, 2]);
      expect(segments[0]?.text).toMatch(
        /^WEBVTT\n[^]*00:00:01\.000 --> 00:00:03\.000.*\nFrüh & <i>schräg<\/i>\nSo --&gt; I &lt;3 it\n/,
      );
      expect(segments[1]?.text).toMatch(/00:00:07\.500 --> 00:00:08\.500.*\nLater/);
      expect(segments.slice(2).map(({ text }) => text.trim())).toEqual([header, header]);
    }
    const folder = rig.at(dirname(dirname(dirname(tracks[0]?.playlist ?? ''))));
    const master = await readFile(join(folder, 'master.m3u8'), 'utf8');
    expect(master).toContain(`LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,FORCED=${flags[0] ? 'YES' : 'NO'}`);
    expect(master).toContain('SUBTITLES="text"');
    expect(await readFile(join(folder, 'manifest.mpd'), 'utf8')).toContain('mimeType="text/vtt"');
  },
);

it('C16.5: `captions: clear` in a profile leaves subtitles out of an encrypted stream', async () => {
  const { byName } = mediaProfilesSchema.parse({ profiles: { quiet: { preset: 'ultrafast', captions: 'clear' } } });
  const clip = await source('long.mkv', '-c:s srt');
  const rig = await runnerRig('video:transcode', clip, { encrypt: true }, byName.get('quiet'));
  expect((await runToResult(rig, keyEnvironment)).results).toMatchObject({ text_tracks: [], warnings: [] });
});

const captions: readonly Caption[] = [
  { atSec: 2, untilSec: 4, text: 'WHO IS THERE?' },
  { atSec: 9, untilSec: 11.5, text: '[door closes]' },
  { atSec: 14, untilSec: 16, text: 'ROCK & ROLL' },
];

const seconds = (clock: string) => clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/** Seconds from the cues of WebVTT segments, and their texts. */
function cuesIn(segments: readonly { readonly text: string }[]): [number, number, string][] {
  const cues = segments.flatMap(({ text }) => [...text.matchAll(/^([\d:.]+) --> ([\d:.]+).*\n(.*)$/gm)]);
  return cues.map(([, from = '', to = '', text = '']) => [seconds(from), seconds(to), text]);
}

/** MPEG-2 TS begins at 1.4 s of its own clock, and shows its frames in another order than it has them. */
const inFrames = async () => {
  const folder = await newFolder();
  const codecs = '-c:v libx264 -preset veryfast -g 30 -c:a aac -ac 2 long.ts';
  await captionedVideo(folder, captions, 20, codecs);
  return join(folder, 'long.ts');
};
const inTrack = async () => {
  const folder = await newFolder();
  await writeFile(join(folder, 'cc.scc'), sccOf(captions));
  const video = '-f lavfi -i testsrc2=s=128x72:r=30000/1001:d=20 -i cc.scc -map 0 -map 1';
  const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:s copy long.mov';
  await runTool('ffmpeg', `-v error -y ${video} ${codecs}`.split(' '), folder);
  return join(folder, 'long.mov');
};

describe('CEA-608 captions', () => {
  it.each([
    ['inside of the frames of a transport stream', inFrames],
    ['in a track of a MOV', inTrack],
  ])('C14.15: CEA-608 captions %s are a WebVTT rendition', async (_, make) => {
    const clip = await make();
    const rig = await runnerRig('video:transcode', clip, { encrypt: false });
    const { results } = await runToResult(rig);
    expect(results.text_tracks).toMatchObject([
      { id: 'text_und', language: 'und', name: 'CC1', forced: false, hearing_impaired: true, segment_count: 4 },
    ]);
    expect(results.warnings).toEqual([]);
    const playlist = results.text_tracks?.[0]?.playlist ?? '';
    const cues = cuesIn(await segmentsOf(rig, playlist));
    expect(cues.map(([, , text]) => text)).toEqual(captions.map(({ text }) => text));
    // ffmpeg takes a line of a Scenarist file for the time at which it is shown; it is when its first byte is sent.
    const tolerance = make === inTrack ? 0.6 : 0.1;
    for (const [index, [fromSec, toSec]] of cues.entries()) {
      expect(Math.abs(fromSec - (captions[index]?.atSec ?? 0))).toBeLessThan(tolerance);
      expect(Math.abs(toSec - (captions[index]?.untilSec ?? 0))).toBeLessThan(tolerance);
    }
    if (make === inTrack) return;
    // A chunked encode has the same, from the unit that splits it.
    const parts = await runnerRig('video:transcode', clip, { encrypt: false });
    const { rev } = (await split(parts)) ?? {};
    const folderOf = (ofRev = '') => dirname(playlist).replace(/[0-9a-f]{16}/, ofRev);
    const names = [1, 2, 3, 4].map((number) => `seg_${number}.vtt`);
    const read = (of: RunnerRig, folder: string) =>
      Promise.all(names.map((name) => readFile(join(of.at(folder), name), 'utf8')));
    expect(await read(parts, folderOf(rev))).toEqual(await read(rig, dirname(playlist)));
  });
});
