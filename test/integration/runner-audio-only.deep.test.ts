import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { builtInMediaProfiles, mediaProfilesSchema } from '#domain/media/profiles.ts';
import { split } from '../../testing/chunked.ts';
import { channelLevels, decodingErrors, probeStreams, runTool, sample } from '../../testing/media.ts';
import { removeRigs, run, type RunnerRig, runnerRig, runToResult, wholeTrack } from '../../testing/runner.ts';

// Streams of sources without video, by the profile `audio`, judged by decoded samples.

afterAll(removeRigs);

const { byName } = mediaProfilesSchema.parse({
  profiles: { wide: { audio_only: 'stream', audio: { surround: true } } },
});
const audio = byName.get('audio') ?? null;

const frameSec = 1024 / 48_000;
/** A sine that is 40 dB louder in the second half; `0.1` is −20 dB of a full one. */
const tone = (seconds: number, channels = 2) =>
  `-f lavfi -i aevalsrc=${Array.from({ length: channels }, () => `0.1*sin(2*PI*997*t)*if(lt(t\\,${seconds / 2})\\,0.01\\,1)`).join('|')}:s=48000:d=${seconds}`;

/** Decoded audio: its length in seconds, its channels, and the level of its halves in dB of a full sine. */
async function heard(path: string, seconds: number) {
  expect(await decodingErrors(path)).toBe('');
  const decoded = await runTool('ffmpeg', ['-v', 'error', '-i', path, '-c:a', 'pcm_s16le', '-f', 'framecrc', '-']);
  const samples = [...decoded.matchAll(/^0,\s*-?\d+,\s*-?\d+,\s*(\d+),/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  const level = async (fromSec: number, toSec: number) => (await channelLevels(path, fromSec, toSec))[0] ?? 0;
  const [stream] = await probeStreams(path);
  const half = seconds / 2;
  return {
    seconds: samples / 48_000,
    channels: stream?.channels,
    quiet: await level(0.1, half - 0.1),
    loud: await level(half + 0.1, seconds - 0.1),
  };
}

/** The height of the waveform at a share of its width, in pixels. */
async function waveHeight(path: string, share: number): Promise<number> {
  const image = sharp(path).ensureAlpha();
  const { width, height } = await image.metadata();
  const column = await image
    .extract({ left: Math.floor(width * share), top: 0, width: 1, height })
    .raw()
    .toBuffer();
  return Array.from({ length: height }, (_, row) => column[row * 4 + 3] ?? 0).filter((alpha) => alpha > 0).length;
}

describe('streams of audio alone', () => {
  const art = '-f lavfi -i color=red:s=64x64:d=0.04 -map 0 -map 1 -c:v mjpeg -disposition:v attached_pic';
  it.each([
    ['an MP3 with cover art', 'art.mp3', `${tone(3)} ${art} -c:a libmp3lame`, 'mp3', -20],
    // A single channel becomes two that are 3 dB quieter each.
    ['a WAV in mono', 'mono.wav', `${tone(3, 1)} -c:a pcm_s16le`, 'wav', -23],
    ['Opus in WebM', 'audio.webm', `${tone(8)} -c:a libopus -b:a 128k`, 'matroska', -20],
  ])(
    'C14.10, C14.11: %s becomes a stream without video, with its waveform',
    async (_, name, args, container, level) => {
      const seconds = Number(/:d=(\d)/.exec(args)?.[1]);
      const rig = await runnerRig('video:transcode', await sample(name, args), {}, audio);
      const { results, rev } = await runToResult(rig);
      const [track, ...others] = results.audio_tracks;
      if (track === undefined) throw new Error('no audio track');
      expect(others).toEqual([]);
      expect(results).toMatchObject({
        streaming: { default_audio_track_id: track.id, encrypted: false },
        video_tracks: [],
        text_tracks: [],
        source: { container, video: null },
        warnings: [],
      });
      expect(results).not.toHaveProperty('storyboard');
      expect(Math.abs(results.source.duration_sec - seconds)).toBeLessThan(0.08);

      const decoded = await heard(await wholeTrack(rig, track), seconds);
      // All of it, and at most a frame of AAC more, and of the source's codec where its container does not state what
      // to cut off.
      expect(decoded.seconds).toBeGreaterThanOrEqual(seconds);
      expect(decoded.seconds).toBeLessThan(seconds + frameSec + 0.06);
      expect([decoded.loud, decoded.loud - decoded.quiet]).toEqual([expect.closeTo(level, 0), expect.closeTo(40, 0)]);
      // Blocks of EBU R 128 that begin in the quiet half count too.
      expect(Math.abs((track.loudness?.integrated_lufs ?? 0) - level)).toBeLessThan(1.5);

      const master = rig.at(masterKey('clip-1').replace('master.m3u8', `${rev}/master.m3u8`));
      const text = await readFile(master, 'utf8');
      expect(text).toMatch(/^#EXT-X-STREAM-INF:BANDWIDTH=\d+,AVERAGE-BANDWIDTH=\d+,CODECS="mp4a.40.2",AUDIO="audio"$/m);
      expect(text).not.toMatch(/RESOLUTION|I-FRAME|IMAGE-STREAM/);
      // The whole stream, as ffmpeg reads it.
      expect(await decodingErrors(master)).toBe('');
      const dash = await readFile(rig.at(results.streaming.dash_manifest ?? ''), 'utf8');
      expect([...dash.matchAll(/contentType="(\w+)"/g)].map(([, type]) => type)).toEqual(['audio']);

      const { key, ...waveform } = results.waveform ?? { key: '' };
      expect(key).toBe(videoKey('clip-1', rev, 'waveform.webp'));
      const drawn = await sharp(rig.at(key)).metadata();
      expect(drawn).toMatchObject({ format: 'webp', width: 1280, height: 240, hasAlpha: true });
      expect(waveform).toEqual({
        format: 'webp',
        width: 1280,
        height: 240,
        size: (await readFile(rig.at(key))).length,
      });
      const [quiet, loud] = [await waveHeight(rig.at(key), 0.25), await waveHeight(rig.at(key), 0.75)];
      expect(loud).toBeGreaterThan(30);
      expect(quiet).toBeLessThan(loud / 4);
      expect(loud).toBeLessThan(240);
    },
  );

  it('audio stays one piece where a video would be split into chunks', async () => {
    const rig = await runnerRig('video:transcode', await sample('long.mka', `${tone(8)} -c:a flac`), {}, audio);
    expect(await split(rig, {}, 1)).toBeNull();
    expect((await rig.manifest())?.results).toMatchObject({ video_tracks: [], source: { duration_sec: 8 } });
  });
});

/** Exit code and error code. */
const refused = async (rig: RunnerRig) => {
  const { exitCode, error } = await run(rig, ['all']);
  return [exitCode, error?.code];
};

describe('sources without video that are refused', () => {
  it('C14.12: audio alone is no_video_stream for every other type, and for a stream by every other profile', async () => {
    const source = await sample('mono.wav', `${tone(3, 1)} -c:a pcm_s16le`);
    for (const type of ['video:full', 'video:cover', 'video:preview'] as const)
      expect([type, await refused(await runnerRig(type, source, {}, audio))]).toEqual([type, [10, 'no_video_stream']]);
    const others = [...builtInMediaProfiles.byName.values()].filter(({ name }) => name !== 'audio');
    for (const profile of [null, ...others]) {
      const rig = await runnerRig('video:transcode', source, {}, profile);
      expect([profile?.name, await refused(rig)]).toEqual([profile?.name, [10, 'no_video_stream']]);
    }
  });
});
