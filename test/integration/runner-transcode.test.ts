import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { videoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { parseMediaPlaylist } from '#domain/media/media-playlist.ts';
import { digestsKey } from '#domain/work/object-digests.ts';
import { masterKey, videoFolder, videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import {
  firstSliceType,
  frameNumber,
  packetTimes,
  probeStreams,
  runTool,
  sample,
  similarity,
} from '../../testing/media.ts';
import {
  keyEnvironment,
  removeRigs,
  run,
  type RunnerOutcome,
  type RunnerRig,
  runnerRig,
  wholeTrack,
} from '../../testing/runner.ts';

// video:transcode with the real ffmpeg and packager; the stream is checked frame by frame.

const seconds = 12.6;
let source: string;
let rig: RunnerRig<'video:transcode'>;
let outcome: RunnerOutcome;
let results: JobResults<'video:transcode'>;

beforeAll(async () => {
  source = await sample(
    'two-languages.mp4',
    `-f lavfi -i testsrc2=s=960x540:r=25:d=${seconds} -f lavfi -i sine=f=440:r=44100:d=${seconds} -f lavfi -i sine=f=880:r=48000:d=${seconds} ` +
      '-map 0 -map 1 -map 2 -c:v libx264 -preset ultrafast -crf 18 -g 90 -pix_fmt yuv420p -c:a aac -metadata:s:a:0 language=eng -metadata:s:a:1 language=ger',
  );
  rig = await runnerRig('video:transcode', source);
  outcome = await run(rig);
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error(`no result: ${outcome.stderr}`);
  ({ results } = manifest);
});
afterAll(removeRigs);

const folderOf = (playlist: string) => rig.at(playlist.slice(0, playlist.lastIndexOf('/')));

async function masterOf(): Promise<string> {
  const rev = (await rig.manifest())?.rev ?? '';
  return rig.at(masterKey('clip-1').replace('master.m3u8', `${rev}/master.m3u8`));
}

describe('video:transcode', () => {
  it('C14.6: a transcode has results of the specified shape, and every object that they name', async () => {
    expect(outcome).toMatchObject({ exitCode: 0, error: null });
    expect(videoTranscodeResults.parse(results)).toEqual(results);
    const rev = (await rig.manifest())?.rev ?? '';
    expect(results.streaming).toEqual({
      protocol: 'hls',
      container: 'cmaf',
      encrypted: false,
      master_playlist: masterKey('clip-1'),
      revision_playlist: videoKey('clip-1', rev, 'master.m3u8'),
      dash_manifest: videoKey('clip-1', rev, 'manifest.mpd'),
      default_audio_track_id: 'audio_en_aac_2ch',
    });
    expect(results).not.toHaveProperty('encryption');
    const keys = await rig.keys();
    expect(keys).toContain(results.streaming.revision_playlist);
    for (const { playlist, init } of [...results.video_tracks, ...results.audio_tracks]) {
      expect(keys).toEqual(expect.arrayContaining([playlist, init]));
    }
    const manifest = await rig.manifest();
    const named = manifest?.objects.map(({ key }) => key).toSorted();
    const digests = digestsKey(videoFolder('clip-1', rev));
    expect(keys.filter((key) => !key.startsWith('work/'))).toEqual([...(named ?? []), digests].toSorted());
    const lines = (await readFile(rig.at(digests), 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(named?.length ?? 0);
    for (const [digest = '', name = ''] of lines.map((line) => line.split('  '))) {
      const bytes = await readFile(join(dirname(rig.at(digests)), name));
      expect([name, createHash('sha256').update(bytes).digest('hex')]).toEqual([name, digest]);
    }
    expect(results.source).toMatchObject({
      container: 'mov',
      video: { codec: 'h264', width: 960, height: 540, frame_rate: 25, interlaced: false },
    });
  });

  it('a transcode has the rungs of the ladder, the 2.0 Mb/s one first, and never enlarges', async () => {
    expect(results.video_tracks.map(({ id, width, height }) => [id, width, height])).toEqual([
      ['r540_h264', 960, 540],
      ['r360_h264', 640, 360],
    ]);
    for (const track of results.video_tracks) {
      const [stream] = await probeStreams(await wholeTrack(rig, track));
      expect(stream).toMatchObject({
        codec_name: 'h264',
        width: track.width,
        height: track.height,
        pix_fmt: 'yuv420p',
        r_frame_rate: '25/1',
        sample_aspect_ratio: '1:1',
        color_space: 'bt709',
        color_transfer: 'bt709',
        color_primaries: 'bt709',
        nb_read_packets: String(seconds * 25),
      });
    }
  });

  it('segments of 6 s begin with an IDR at the same times on every rung', async () => {
    const starts: number[][] = [];
    for (const { playlist, init, segment_count: count } of results.video_tracks) {
      const { segments } = parseMediaPlaylist(await readFile(rig.at(playlist), 'utf8'));
      expect(segments.map(({ durationSec }) => durationSec)).toEqual([6, 6, 0.6]);
      expect(count).toBe(3);
      const ofTrack: number[] = [];
      for (const { uri } of segments) {
        const bytes = await readFile(join(folderOf(playlist), uri));
        expect(firstSliceType(bytes)).toBe(5);
        const path = join(rig.dir, 'segment.mp4');
        await writeFile(path, Buffer.concat([await readFile(rig.at(init)), bytes]));
        ofTrack.push((await packetTimes(path))[0] ?? -1);
      }
      starts.push(ofTrack);
    }
    expect(starts[0]).toEqual([0, 6, 12]);
    expect(starts[1]).toEqual(starts[0]);
  });

  it('both audio tracks have the length and the segments of the video', async () => {
    expect(
      results.audio_tracks.map(({ id, language, role, codec, channels }) => [id, language, role, codec, channels]),
    ).toEqual([
      ['audio_en_aac_2ch', 'en', 'main', 'aac', 2],
      ['audio_de_aac_2ch', 'de', 'alternate', 'aac', 2],
    ]);
    for (const track of results.audio_tracks) {
      const { segments } = parseMediaPlaylist(await readFile(rig.at(track.playlist), 'utf8'));
      const total = segments.reduce((sum, { durationSec }) => sum + durationSec, 0);
      expect(Math.abs(total - seconds)).toBeLessThan(0.03);
      expect(segments).toHaveLength(track.segment_count);
      expect(track.segment_count).toBe(3);
      expect(track.bitrate).toBeGreaterThan(60_000);
      expect(track.bitrate).toBeLessThan(150_000);
      const [stream] = await probeStreams(await wholeTrack(rig, track));
      expect(stream).toMatchObject({ codec_name: 'aac', profile: 'LC', channels: 2, sample_rate: '48000' });
    }
  });

  it('the I-frame playlist lists every IDR of the grid', async () => {
    const folder = folderOf(results.video_tracks[0]?.playlist ?? '');
    const { segments } = parseMediaPlaylist(await readFile(join(folder, 'iframes.m3u8'), 'utf8'));
    expect(segments.map(({ durationSec }) => durationSec)).toEqual([2, 2, 2, 2, 2, 2, 0.6]);
  });

  it('the stream has the frames of the source', async () => {
    const [top] = results.video_tracks;
    if (top === undefined) throw new Error('no track');
    expect(await similarity(await wholeTrack(rig, top), source)).toBeGreaterThan(0.9);
  });

  it('the runner reports its phases and a final result', () => {
    const phases = outcome.reports.filter(({ type }) => type === 'phase');
    expect(phases[0]).toEqual({ type: 'phase', phase: 'packaging' });
    expect(outcome.reports.at(-1)).toMatchObject({
      type: 'result',
      error: null,
      steps: [{ step: 'publish', code: null }],
    });
  });

  it('publishing again changes nothing', async () => {
    const before = await readFile(await masterOf(), 'utf8');
    const manifest = await rig.manifest();
    expect(await run(rig, ['publish'])).toMatchObject({ exitCode: 0 });
    expect(await rig.manifest()).toEqual(manifest);
    expect(await readFile(await masterOf(), 'utf8')).toBe(before);
  });
});

describe('a storyboard', () => {
  it('C14.17: a storyboard shows the frame of each time, in HLS, in DASH and as cues', async () => {
    const { storyboard } = results;
    if (storyboard === undefined) throw new Error('no storyboard');
    const sheet = rig.at(storyboard.playlist.replace('playlist.m3u8', 'sheet_1.jpg'));
    for (const second of [0, 2, 6, 12]) {
      const tile = `crop=160:90:${(second / 2) * 160}:0`;
      const shown = await tileOf(sheet, tile);
      expect(await similarity(shown, source, `${frameNumber(second * 25)},scale=160:90`)).toBeGreaterThan(0.9);
    }
    expect(await readFile(rig.at(storyboard.cues), 'utf8')).toContain(
      '00:00:12.000 --> 00:00:12.600\nsheet_1.jpg#xywh=960,0,160,90',
    );
    expect(await readFile(await masterOf(), 'utf8')).toMatch(
      /^#EXT-X-IMAGE-STREAM-INF:.*URI="storyboard\/playlist.m3u8"$/m,
    );
    const manifest = await readFile((await masterOf()).replace('master.m3u8', 'manifest.mpd'), 'utf8');
    expect(manifest).toContain('media="storyboard/sheet_$Number$.jpg"');
  });

  it('C14.18: an encrypted stream has no storyboard, unless its profile always wants one', async () => {
    const ladder = [{ short_side: 90, bitrate: 100_000 }];
    const { byName } = mediaProfilesSchema.parse({
      profiles: { plain: { ladder }, shown: { ladder, storyboard: 'always' } },
    });
    for (const [name, has] of [
      ['plain', false],
      ['shown', true],
    ] as const) {
      const other = await runnerRig('video:transcode', source, { encrypt: true }, byName.get(name));
      await run(other, ['fetch', 'process']);
      await run(other, ['publish'], keyEnvironment);
      expect((await other.manifest())?.results).toHaveProperty('video_tracks');
      expect((await other.manifest())?.results.storyboard !== undefined).toBe(has);
    }
  });
});

/** A part of an image, as an image of its own. */
async function tileOf(sheet: string, crop: string): Promise<string> {
  const path = `${sheet}-${crop.replaceAll(':', '-')}.png`;
  await runTool('ffmpeg', ['-v', 'error', '-y', '-i', sheet, '-vf', crop, path]);
  return path;
}

describe('an encoding profile', () => {
  it('an encoding profile decides the ladder, the frame rate and the audio of a stream', async () => {
    const { byName } = mediaProfilesSchema.parse({
      profiles: {
        small: { ladder: [{ short_side: 120, bitrate: 100_000 }], frame_rate_max: 15, audio: { tracks_max: 1 } },
      },
    });
    const small = await runnerRig('video:transcode', source, {}, byName.get('small') ?? null);
    expect(await run(small)).toMatchObject({ exitCode: 0 });
    const made = (await small.manifest())?.results;
    expect(made?.audio_tracks.map(({ id }) => id)).toEqual(['audio_en_aac_2ch']);
    const [track, ...others] = made?.video_tracks ?? [];
    if (track === undefined) throw new Error('no video track');
    expect(others).toEqual([]);
    const [stream] = await probeStreams(await wholeTrack(small, track));
    expect(stream).toMatchObject({ width: 214, height: 120, r_frame_rate: '25/2' });
  });
});
