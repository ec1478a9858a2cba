import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { decodingErrors, decrypt, firstSliceType, probeStreams, sample } from '../../testing/media.ts';
import {
  avcCodec,
  fetchObject,
  fetchPlaylist,
  fetchTrack,
  removeFetched,
  audioOf,
  type ServedSegment,
  type ServedTrack,
} from '../../testing/served-stream.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// What the service serves of an encrypted and of a clear stream that the whole line has made, held against RFC 8216,
// Apple's authoring specification and docs/reference/media.md. Two audio tracks of three have a language, the second is
// the default; the video is quiet except for four seconds of noise, so that peak and average differ.

const seconds = 13.3;
const fps = 30_000 / 1001;
const audioFrameSec = 1024 / 48_000;
let streams: Streams;

type Master = Awaited<ReturnType<typeof fetchPlaylist>>;

interface Stream {
  readonly master: Master;
  /** With video, in their order. */
  readonly variants: Master['manifest']['playlists'];
  readonly video: readonly ServedTrack[];
  readonly audio: readonly ServedTrack[];
  readonly masterUrl: string;
}
const found = new Map<string, Stream>();
const stream = (hash: string) => found.get(hash) as Stream;

beforeAll(async () => {
  const noise = String.raw`noise=alls=40:allf=t:enable=between(t\,7\,11)`;
  const sine = (f: number) => `-f lavfi -i sine=f=${f}:r=48000:d=${seconds}`;
  const clip = await sample(
    'uneven-three-tracks.mp4',
    `-f lavfi -i testsrc=s=960x540:r=30000/1001:d=${seconds} ${sine(440)} ${sine(660)} ${sine(880)} -map 0 -map 1 -map 2 -map 3 ` +
      `-vf ${noise} -c:v libx264 -preset ultrafast -crf 16 -g 77 -pix_fmt yuv420p -c:a aac ` +
      '-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger -disposition:a:0 0 -disposition:a:1 default',
  );
  streams = await makeStreams(clip);
  for (const hash of [clear, encrypted]) {
    const masterUrl = `${streams.service.baseUrl}/stream/${hash}/master.m3u8`;
    const master = await fetchPlaylist(masterUrl);
    const groups = Object.values(master.manifest.mediaGroups.AUDIO['audio'] ?? {});
    const fetchAll = async (uris: readonly string[]) => {
      const tracks: ServedTrack[] = [];
      for (const uri of uris) tracks.push(await fetchTrack(new URL(uri, masterUrl).href));
      return tracks;
    };
    const variants = master.manifest.playlists.filter(({ attributes }) => 'VIDEO-RANGE' in attributes);
    const video = await fetchAll(variants.map(({ uri }) => uri));
    found.set(hash, { masterUrl, master, variants, video, audio: await fetchAll(groups.map(({ uri }) => uri)) });
  }
}, 480_000);
afterAll(async () => {
  await removeFetched();
  await streams?.stop();
});

const lasting = (segments: readonly ServedSegment[]) => segments.reduce((sum, { durationSec }) => sum + durationSec, 0);

/** Bits a second of segments together. */
const rateOf = (segments: readonly ServedSegment[]) =>
  (segments.reduce((sum, { bytes }) => sum + bytes.length, 0) * 8) / lasting(segments);

const startsOf = ({ segments }: ServedTrack) => segments.map(({ startSec }) => startSec);

/**
 * The largest rate of any run of segments of 0.5 to 1.5 target durations (RFC 8216, section 4.3.4.2), said again in
 * other words than the program's.
 */
function peakOf(segments: readonly ServedSegment[], targetSec: number): number {
  const runs = segments.flatMap((_, from) => segments.map((__, to) => segments.slice(from, to + 1)));
  const counted = runs.filter(
    (run) => run.length > 0 && lasting(run) >= 0.5 * targetSec && lasting(run) <= 1.5 * targetSec,
  );
  return Math.max(...counted.map(rateOf));
}

describe.each([clear, encrypted])('the stream %s as it is served', (hash) => {
  it('a stream has two rungs and three audio tracks, the default first, and every URI leads to an object of its type', () => {
    const { master, variants, video, audio } = stream(hash);
    expect(variants.map(({ attributes }) => attributes.RESOLUTION.height)).toEqual([540, 360]);
    const renditions = Object.values(master.manifest.mediaGroups.AUDIO['audio'] ?? {});
    expect(renditions.map(({ language, default: isDefault, autoselect }) => [language, isDefault, autoselect])).toEqual(
      [
        ['de', true, true],
        ['en', false, true],
        [undefined, false, true],
      ],
    );
    expect(variants.every(({ attributes }) => attributes.AUDIO === 'audio')).toBe(true);
    // fetchTrack has followed every URI of every media playlist, and would have thrown.
    expect(video.map(({ init }) => init.type)).toEqual(['video/mp4', 'video/mp4']);
    expect(audio.map(({ init }) => init.type)).toEqual(['audio/mp4', 'audio/mp4', 'audio/mp4']);
    for (const { manifest } of [...video, ...audio])
      expect([manifest.playlistType, manifest.endList, manifest.segments.length]).toEqual(['VOD', true, 3]);
  });

  it('C17.29: the last variant is the default audio alone, at 192 kb/s or less', () => {
    const { master, variants, audio } = stream(hash);
    expect(master.manifest.playlists).toHaveLength(variants.length + 1);
    const { uri, attributes } = master.manifest.playlists.at(-1) ?? {};
    expect(uri).toMatch(/\/audio\/audio_de_aac_2ch\/playlist\.m3u8$/);
    expect(attributes).toMatchObject({ CODECS: 'mp4a.40.2', AUDIO: 'audio', 'CLOSED-CAPTIONS': 'NONE' });
    const peak = Math.max(...audio.map(({ segments, manifest }) => peakOf(segments, manifest.targetDuration)));
    expect(attributes?.BANDWIDTH).toBeGreaterThanOrEqual(Math.floor(peak));
    expect(attributes?.BANDWIDTH).toBeLessThanOrEqual(192_000);
  });

  it('playlists state the durations of the samples and a target duration that no segment exceeds', () => {
    const { video, audio } = stream(hash);
    const tracks = [...video, ...audio];
    for (const { segments, url } of tracks) {
      for (const { statedSec, durationSec } of segments) expect(statedSec, url).toBeCloseTo(durationSec, 3);
      const totalSec = segments.reduce((sum, { durationSec }) => sum + durationSec, 0);
      expect(Math.abs(totalSec - seconds), url).toBeLessThan(2 / fps + audioFrameSec);
    }
    const longest = Math.max(...tracks.flatMap(({ segments }) => segments.map(({ statedSec }) => statedSec)));
    for (const { manifest } of tracks) expect(manifest.targetDuration).toBe(Math.round(longest));
    expect(longest).toBeLessThanOrEqual(6.5);
  });

  it('every segment begins with an IDR at the same times on every rung, and audio within one frame of it', () => {
    const { video, audio, master } = stream(hash);
    expect(master.text).toContain('#EXT-X-INDEPENDENT-SEGMENTS');
    const [first] = video.map(startsOf);
    for (const track of video) {
      // Encryption by cbcs leaves the first bytes of a slice as they are, its type among them.
      expect(track.segments.map(({ bytes }) => firstSliceType(bytes))).toEqual([5, 5, 5]);
      expect(startsOf(track)).toEqual(first);
      expect(track.segments.map(({ samples }) => samples)).toEqual(video[0]?.segments.map(({ samples }) => samples));
    }
    expect(first?.map((sec) => sec * fps)).toEqual([0, 180, 360].map((frame) => expect.closeTo(frame, 3) as number));
    for (const track of audio)
      for (const [index, startSec] of startsOf(track).entries())
        expect(Math.abs(startSec - (first?.[index] ?? -1))).toBeLessThanOrEqual(audioFrameSec + 0.001);
  });

  it('the stated peak bandwidth is never exceeded and the average is within 10 %', () => {
    const { variants, video, audio } = stream(hash);
    const audioPeak = Math.max(...audio.map(({ segments, manifest }) => peakOf(segments, manifest.targetDuration)));
    const audioAverage = Math.max(...audio.map(({ segments }) => rateOf(segments)));
    for (const [index, { attributes, uri }] of variants.entries()) {
      const { segments = [], manifest } = video[index] ?? {};
      const peak = peakOf(segments, manifest?.targetDuration ?? 0) + audioPeak;
      const average = rateOf(segments) + audioAverage;
      expect(attributes.BANDWIDTH, uri).toBeGreaterThanOrEqual(Math.floor(peak));
      expect(attributes.BANDWIDTH / peak, uri).toBeLessThan(1.1);
      expect(Math.abs(Number(attributes['AVERAGE-BANDWIDTH']) / average - 1), uri).toBeLessThan(0.1);
      // The noise matters: in an even stream peak and average are equal.
      expect(peak / average, uri).toBeGreaterThan(1.3);
    }
  });

  it('the master names the codecs, sizes and frame rates of the init segments and samples', async () => {
    const { variants, video, audio } = stream(hash);
    for (const [index, { attributes, uri }] of variants.entries()) {
      const track = video[index];
      if (track === undefined) throw new Error('a variant without a track');
      const path = join(streams.folder, 'probed.mp4');
      await writeFile(path, Buffer.concat([track.init.bytes, track.segments[0]?.bytes ?? Buffer.alloc(0)]));
      const [probed] = await probeStreams(path);
      expect(attributes.RESOLUTION, uri).toEqual({ width: probed?.width, height: probed?.height });
      expect(attributes['FRAME-RATE'], uri).toBeCloseTo(fps, 3);
      const { samples = 0, durationSec = 1 } = track.segments[0] ?? {};
      expect(samples / durationSec, uri).toBeCloseTo(fps, 3);
      expect(attributes.CODECS, uri).toBe(`${avcCodec(track.init.bytes)},mp4a.40.2`);
      // High profile, and a level that a phone has.
      expect(attributes.CODECS, uri).toMatch(/^avc1\.64[0-9a-f]{2}(?:1e|1f|20|28|29),/);
    }
    // Read from the container: ffprobe would look into the samples themselves, and see noise where it is encrypted.
    for (const { init } of audio) expect(audioOf(init.bytes)).toEqual({ channels: 2, sampleRate: 48_000 });
  });

  it('every range of an I-frame playlist is one key frame', async () => {
    const { master, masterUrl, video } = stream(hash);
    expect(master.manifest.iFramePlaylists).toHaveLength(2);
    for (const [index, { uri, attributes }] of master.manifest.iFramePlaylists.entries()) {
      const url = new URL(uri, masterUrl).href;
      const { text, manifest } = await fetchPlaylist(url);
      expect(text).toContain('#EXT-X-I-FRAMES-ONLY');
      // One IDR every two seconds of 13.3.
      expect(manifest.segments).toHaveLength(7);
      let [bytes, stated] = [0, 0];
      for (const { uri: of, byterange, duration } of manifest.segments) {
        const range = byterange ?? { length: 0, offset: 0 };
        const { status, bytes: part } = await fetchObject(new URL(of, url).href, {
          range: `bytes=${range.offset}-${range.offset + range.length - 1}`,
        });
        expect([status, part.length, part.toString('latin1', 4, 8)]).toEqual([206, range.length, 'moof']);
        expect(firstSliceType(part)).toBe(5);
        bytes += part.length;
        stated += duration;
      }
      expect(stated).toBeCloseTo(video[index]?.segments.reduce((sum, { statedSec }) => sum + statedSec, 0) ?? 0, 1);
      expect(Math.abs(Number(attributes['AVERAGE-BANDWIDTH']) / ((bytes * 8) / stated) - 1)).toBeLessThan(0.1);
    }
  });

  it('C17.3: addresses without a revision answer with the same bytes', async () => {
    for (const track of [...stream(hash).video, ...stream(hash).audio]) {
      const alias = track.url.replace(/\/[0-9a-f]{16}\//, '/');
      expect(alias).not.toBe(track.url);
      expect((await fetchObject(alias)).bytes.toString('utf8')).toBe(track.text);
      expect(
        (await fetchObject(new URL('seg_1.m4s', alias).href)).bytes.equals(track.segments[0]?.bytes as Buffer),
      ).toBe(true);
    }
  });
});

describe('encryption', () => {
  it('every media playlist of the encrypted stream names its encryption, and none of the clear one does', async () => {
    const { baseUrl } = streams.service;
    for (const { text, manifest } of [...stream(encrypted).video, ...stream(encrypted).audio]) {
      const lines = text.split('\n').filter((line) => line.startsWith('#EXT-X-KEY:'));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/METHOD=SAMPLE-AES,.*KEYFORMAT="identity"/);
      for (const { key } of manifest.segments) {
        expect(key).toMatchObject({ method: 'SAMPLE-AES', uri: `${baseUrl}/api/key/${encrypted}` });
      }
    }
    for (const { text } of [...stream(clear).video, ...stream(clear).audio]) expect(text).not.toContain('EXT-X-KEY');
  });

  it('an encrypted stream cannot be decoded without its key, and can be with the key that is served', async () => {
    const token = signPlaybackToken(
      { hash: encrypted, exp: Math.floor(Date.now() / 1000) + 600 },
      streams.secrets.values.KEY_TOKEN_SECRET,
    );
    const { bytes: key } = await fetchObject(`${streams.service.baseUrl}/api/key/${encrypted}`, {
      authorization: `Bearer ${token}`,
    });
    const kid = streams.job.results.encryption?.kid ?? '';
    const kinds = { video: stream(encrypted).video[0], audio: stream(encrypted).audio[0] };
    for (const [kind, track] of Object.entries(kinds)) {
      if (track === undefined) throw new Error('no track');
      const hidden = join(streams.folder, `${kind}.mp4`);
      const shown = join(streams.folder, `${kind}-shown.mp4`);
      await writeFile(hidden, Buffer.concat([track.init.bytes, ...track.segments.map(({ bytes }) => bytes)]));
      expect(await decodingErrors(hidden)).not.toBe('');
      await decrypt(hidden, shown, { kid, key: key.toString('hex') }, kind);
      expect(await decodingErrors(shown)).toBe('');
    }
  });
});
