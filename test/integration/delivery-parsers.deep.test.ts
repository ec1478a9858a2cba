import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse as parseHls, setOptions } from 'hls-parser';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { chromiumPath, keepScreenshot, openPage, pauseAt, shownFrame, stateOf } from '../../testing/browser.ts';
import { serveGuidePage } from '../../testing/guide-page.ts';
import { runTool } from '../../testing/media.ts';
import { boxesOf, fragmentsOf, numberIn, parseBoxes } from '../../testing/parsed-boxes.ts';
import { bytesAt, type ListedTrack, readDash, readHls } from '../../testing/parsed-stream.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// What the service serves, held against programs that are not ours: two parsers of HLS, one of DASH, GPAC's of MP4,
// ffmpeg, and a browser. The streams have rungs of every codec, two audio tracks, captions, chapters and a storyboard.

const seconds = 13;
const fps = 25;
const frameSec = 1 / fps;
const audioFrameSec = 1024 / 48_000;
const video = ['video/r90_h264', 'video/r180_h264', 'video/r180_hevc', 'video/r180_av1'];
const audio = ['audio/audio_en_aac_2ch', 'audio/audio_de_aac_2ch'];
const text = ['text/text_en'];

const ladder = [
  { short_side: 90, bitrate: 300_000 },
  { short_side: 180, bitrate: 800_000 },
  { codec: 'hevc', short_side: 180, bitrate: 600_000 },
  { codec: 'av1', short_side: 180, bitrate: 500_000 },
];
const chapters = ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=9000\ntitle=First <b>\n';
const profile = { ladder, first_bitrate: 300_000, hevc: { preset: 'ultrafast' }, av1: { preset: 12 } };
const profiles = { profiles: { default: { ...profile, storyboard: 'always' } } };

interface Stream {
  readonly hls: Awaited<ReturnType<typeof readHls>>;
  readonly dash: Awaited<ReturnType<typeof readDash>>;
}

let folder: string;
let streams: Streams;
const found = new Map<string, Stream>();
const stream = (hash: string) => found.get(hash) as Stream;
const addressOf = (hash: string, name: string) => `${streams.service.baseUrl}/stream/${hash}/${name}`;

function trackOf(tracks: ReadonlyMap<string, ListedTrack>, id: string): ListedTrack {
  const track = tracks.get(id);
  if (track === undefined) throw new Error(`no track ${id} among ${[...tracks.keys()].join(', ')}`);
  return track;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-parsers-'));
  await writeFile(join(folder, 'en.srt'), '1\n00:00:01,000 --> 00:00:12,500\nGreetings\n');
  const sines = [440, 660].map((f) => `-f lavfi -i sine=f=${f}:r=48000:d=${seconds}`).join(' ');
  await writeFile(join(folder, 'chapters.txt'), chapters);
  const inputs = `-v error -f lavfi -i testsrc2=s=320x180:r=${fps}:d=${seconds} ${sines} -i en.srt -i chapters.txt`;
  const languages = '-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger -metadata:s:s:0 language=eng';
  const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -c:s srt long.mkv';
  await runTool(
    'ffmpeg',
    `${inputs} -map 0 -map 1 -map 2 -map 3 -map_metadata 4 ${languages} ${codecs}`.split(' '),
    folder,
  );
  streams = await makeStreams(join(folder, 'long.mkv'), { MEDIA_PROFILES: JSON.stringify(profiles) });
  for (const hash of [clear, encrypted]) {
    const hls = await readHls(addressOf(hash, 'master.m3u8'));
    found.set(hash, { hls, dash: await readDash(addressOf(hash, 'manifest.mpd')) });
  }
}, 480_000);
afterAll(async () => {
  await streams?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe.each([clear, encrypted])('the stream %s in parsers of other projects', (hash) => {
  it('C17.6: HLS and DASH list the same tracks with the same segments at the same times', () => {
    const { hls, dash } = stream(hash);
    expect(dash.warnings).toEqual([]);
    expect([...hls.tracks.keys()].toSorted()).toEqual([...video, ...audio, ...text].toSorted());
    expect([...dash.tracks.keys()].toSorted()).toEqual([...hls.tracks.keys()].toSorted());
    expect(Math.abs(dash.durationSec - seconds)).toBeLessThan(2 * frameSec);
    for (const id of [...video, ...audio]) {
      const [listed, other] = [trackOf(hls.tracks, id), trackOf(dash.tracks, id)];
      expect(
        other.segments.map(({ url }) => new URL(url).pathname),
        id,
      ).toEqual(listed.segments.map(({ url }) => new URL(url).pathname));
      expect(new URL(other.init ?? '').pathname).toBe(new URL(listed.init ?? '').pathname);
      if (listed.codecs !== null) expect(other.codecs, id).toBe(listed.codecs);
      for (const [index, { durationSec, startSec }] of listed.segments.entries()) {
        const tolerance = id.startsWith('audio') ? audioFrameSec : frameSec / 2;
        expect(Math.abs((other.segments[index]?.durationSec ?? 0) - durationSec), id).toBeLessThan(
          0.002 + (id.startsWith('audio') ? audioFrameSec : 0),
        );
        expect(Math.abs((other.segments[index]?.startSec ?? 0) - startSec), id).toBeLessThan(tolerance + 0.002);
      }
    }
  });

  it('every segment parses, decode times are continuous, and lengths agree with both manifests', async () => {
    const { hls, dash } = stream(hash);
    for (const id of [...video, ...audio]) {
      const listed = trackOf(hls.tracks, id);
      const init = parseBoxes(await bytesAt(listed.init ?? ''));
      const timescale = numberIn(boxesOf(init, 'mdhd')[0], 'timescale');
      let next: number | null = null;
      for (const [index, { url, durationSec }] of listed.segments.entries()) {
        const segment = parseBoxes(await bytesAt(url));
        const fragments = fragmentsOf(segment, init);
        for (const { at, ticks } of fragments) {
          if (next !== null) expect(at, url).toBe(next);
          next = at + ticks;
        }
        const ticks = fragments.reduce((sum, fragment) => sum + fragment.ticks, 0);
        // What an AAC decoder needs before it is right is in the first segment and never played.
        const unplayedSec = id.startsWith('audio') && index === 0 ? audioFrameSec : 0;
        expect(Math.abs(ticks / timescale - durationSec), url).toBeLessThan(0.002 + unplayedSec);
        expect(Math.abs(ticks / timescale - (trackOf(dash.tracks, id).segments[index]?.durationSec ?? 0))).toBeLessThan(
          0.002 + unplayedSec,
        );
        const [sidx] = boxesOf(segment, 'sidx');
        const references = (sidx?.['references'] ?? []) as readonly Record<string, number>[];
        const sumOf = (field: string) => references.reduce((sum, reference) => sum + (reference[field] ?? 0), 0);
        expect(sumOf('subsegment_duration') + Math.round(unplayedSec * timescale), url).toBe(ticks);
        const sizes = segment.filter(({ type }) => ['moof', 'mdat'].includes(type)).map(({ size }) => size);
        expect(sumOf('referenced_size'), url).toBe(sizes.reduce((a, b) => a + b, 0));
      }
    }
  });

  it('boxes of encryption are in all of the encrypted stream, by its key id, and in none of the clear one', async () => {
    const { hls } = stream(hash);
    const kid = streams.job.results.encryption?.kid ?? '';
    for (const id of [...video, ...audio]) {
      const { init, segments } = trackOf(hls.tracks, id);
      const head = parseBoxes(await bytesAt(init ?? ''));
      const segment = parseBoxes(await bytesAt(segments[1]?.url ?? ''));
      const [scheme, settings] = [boxesOf(head, 'schm')[0], boxesOf(head, 'tenc')[0]];
      const described = [scheme?.['scheme_type'], settings?.['default_KID']];
      if (hash === clear) {
        expect(described, id).toEqual([undefined, undefined]);
        expect(
          ['senc', 'saiz', 'saio'].flatMap((type) => boxesOf(segment, type)),
          id,
        ).toEqual([]);
        continue;
      }
      expect(described, id).toEqual(['cbcs', kid]);
      for (const { own, samples } of fragmentsOf(segment, head)) {
        const sizes = boxesOf(own, 'saiz');
        // Whole samples of audio are encrypted with one IV, so there is nothing to say about each.
        expect(
          sizes.map((box) => numberIn(box, 'sample_count')),
          id,
        ).toEqual(id.startsWith('audio') ? [] : [samples]);
        expect(boxesOf(own, 'saio'), id).toHaveLength(sizes.length);
        expect(boxesOf(own, 'senc'), id).toHaveLength(1);
      }
    }
  });

  it('C14.14, C17.31: captions parse as WebVTT in both manifests, and the storyboard is made of JPEG sheets', async () => {
    const { hls, dash } = stream(hash);
    const listed = trackOf(hls.tracks, 'text/text_en').segments;
    expect(listed).toHaveLength(3);
    // In the encrypted stream too: every other playlist of media names the key there.
    for (const [id, { text: playlist }] of hls.media)
      expect([id, playlist.includes('#EXT-X-KEY')]).toEqual([id, hash === encrypted && /^(?:video|audio)\//.test(id)]);
    for (const { url } of listed) {
      const cues = (await bytesAt(url)).toString('utf8');
      expect(cues).toMatch(/^WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00\.000\n\n00:00:01\.0/);
      expect(cues).toContain('Greetings');
    }
    const [whole, ...others] = trackOf(dash.tracks, 'text/text_en').segments;
    expect(others).toEqual([]);
    const cues = (await bytesAt(whole?.url ?? '')).toString('utf8');
    expect(cues).toMatch(/^WEBVTT\n\n00:01\.0\d\d --> 00:12\.5\d\d\nGreetings\n/);
    expect(dash.text).toContain('http://dashif.org/guidelines/thumbnail_tile');
    const [, images = ''] = /^#EXT-X-IMAGE-STREAM-INF:.*URI="([^"]+)"/m.exec(hls.master.text) ?? [];
    const sheets = (await bytesAt(new URL(images, addressOf(hash, 'master.m3u8')).href)).toString('utf8');
    const [sheet = ''] = sheets.split('\n').filter((line) => line.endsWith('.jpg'));
    const sheetUrl = new URL(sheet, new URL(images, addressOf(hash, 'master.m3u8'))).href;
    expect((await bytesAt(sheetUrl)).subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
  });

  it('C17.29, C17.30: a strict parser of HLS reads every playlist, and finds the key and the chapters in the master', async () => {
    // It throws where it would warn.
    setOptions({ strictMode: true });
    const { master, media } = stream(hash).hls;
    const read = parseHls(master.text);
    if (!read.isMasterPlaylist) throw new Error('the master playlist was read as another');
    const isEncrypted = hash === encrypted;
    const keys = read.sessionKeyList.map(({ method, uri, format }) => [method, uri, format]);
    const address = `${streams.service.baseUrl}/api/key/${hash}`;
    expect(keys).toEqual(isEncrypted ? [['SAMPLE-AES', address, 'identity']] : []);
    expect(read.sessionDataList.map(({ id }) => id)).toEqual(['io.reelwright.chapters']);
    expect(read.variants.filter(({ isIFrameOnly }) => !isIFrameOnly).map(({ uri }) => uri)).toEqual(
      master.manifest.playlists.map(({ uri }) => uri),
    );
    const last = read.variants.findLast(({ isIFrameOnly }) => !isIFrameOnly);
    expect([last?.resolution, last?.codecs, (last?.bandwidth ?? Infinity) <= 192_000]).toEqual([
      undefined,
      'mp4a.40.2',
      true,
    ]);
    for (const [id, { text: written }] of media) {
      const playlist = parseHls(written);
      if (playlist.isMasterPlaylist) throw new Error(`the playlist of ${id} was read as a master`);
      // What the master says of a key is what each track says.
      const [key] = playlist.segments.flatMap((segment) => segment.key ?? []);
      const described = key === undefined ? [] : [[key.method, key.uri, key.format]];
      expect(described, id).toEqual(id.startsWith('text/') ? [] : keys);
    }
    const named = /^#EXT-X-SESSION-DATA:.*URI="([^"]+)"/m.exec(master.text)?.[1] ?? '';
    const cues = (await bytesAt(new URL(named, addressOf(hash, 'master.m3u8')).href)).toString('utf8');
    expect(cues).toContain('First &lt;b&gt;');
  });

  // Of Apple's "HLS Authoring Specification for Apple Devices", what playlists show; the rates:
  // domain/media/bandwidth.test.ts.
  it('the playlists keep to the authoring specification of Apple', () => {
    const { master, media } = stream(hash).hls;
    const { iFramePlaylists, mediaGroups, independentSegments } = master.manifest;
    const playlists = master.manifest.playlists.filter(({ attributes }) => 'VIDEO-RANGE' in attributes);
    expect(independentSegments).toBe(true);
    for (const { attributes, uri } of playlists) {
      const { BANDWIDTH: peak, 'AVERAGE-BANDWIDTH': average } = attributes;
      expect(peak >= Number(average) && Number(average) > 0, uri).toBe(true);
      expect(attributes['FRAME-RATE'], uri).toBe(fps);
      expect([attributes['VIDEO-RANGE'], attributes['CLOSED-CAPTIONS']], uri).toEqual(['SDR', 'NONE']);
      expect([attributes.AUDIO, attributes.SUBTITLES], uri).toEqual(['audio', 'text']);
      expect(attributes.RESOLUTION.height, uri).toBeGreaterThan(0);
    }
    // H.264 comes first, and HEVC has its parameters in the init segment (`hvc1`).
    const codecs = playlists.map(({ attributes }) => attributes.CODECS);
    expect(codecs.map((value) => value.replace(/\..*,/, ','))).toEqual(
      ['avc1', 'avc1', 'hvc1', 'av01'].map((codec) => `${codec},mp4a.40.2`),
    );
    // Trick play for every rung.
    expect(iFramePlaylists.map(({ attributes }) => attributes.CODECS)).toEqual(
      codecs.map((value) => value.split(',')[0]),
    );
    const renditions = Object.entries(mediaGroups.AUDIO['audio'] ?? {});
    expect(
      renditions.map(([name, { language, default: isDefault, autoselect }]) => [name, language, isDefault, autoselect]),
    ).toEqual([
      ['English', 'en', true, true],
      ['German', 'de', false, true],
    ]);
    expect(Object.values(mediaGroups.SUBTITLES['text'] ?? {})).toMatchObject([{ language: 'en', autoselect: true }]);
    for (const [id, { manifest }] of media) {
      const { targetDuration, playlistType, endList, segments } = manifest;
      expect([targetDuration, playlistType, endList], id).toEqual([6, 'VOD', true]);
      expect(Math.max(...segments.map(({ duration }) => Math.round(duration))), id).toBeLessThanOrEqual(6);
      expect(Math.abs(segments.reduce((sum, { duration }) => sum + duration, 0) - seconds), id).toBeLessThan(0.1);
    }
  });
});

it.each(['master.m3u8', 'manifest.mpd'])(
  'ffmpeg decodes every track of the clear stream by its %s without an error line',
  async (name) => {
    const program = findProgram('ffmpeg', process.env);
    const args = [
      '-v',
      'error',
      '-nostdin',
      '-i',
      addressOf(clear, name),
      '-map',
      '0:v',
      '-map',
      '0:a',
      '-f',
      'null',
      '-',
    ];
    const { exitCode, stderrTail } = await runCommand({ program, args }, { timeoutMs: 120_000 });
    expect([exitCode, stderrTail]).toEqual([0, '']);
  },
);

describe.skipIf(chromiumPath === null)('codecs in a real Chromium', () => {
  it.each([
    ['av1', 'shaka', encrypted],
    ['hevc', 'shaka', clear],
  ] as const)(
    'a rung of %s plays on the %s page of the guide, %s, where the browser has the codec',
    async (codec, player, hash) => {
      const { page, errors, requests } = await openPage();
      onTestFinished(() => page.context().close());
      const codecs = trackOf(stream(hash).hls.tracks, `video/r180_${codec}`).codecs ?? '';
      const isKnown = await page.evaluate(`MediaSource.isTypeSupported('video/mp4; codecs="${codecs}"')`);
      if (codec === 'av1') expect(isKnown).toBe(true);
      if (isKnown !== true) return;
      const { service, secrets } = streams;
      const entry = { av1: 'av01', hevc: 'hvc1' }[codec];
      const preferred = `player.configure('preferredVideoCodecs', ['${entry}']);`;
      const change = (html: string) => html.replace(/^ *await player\.attach.*$/m, (line) => `${line}\n${preferred}`);
      const tokenSecret = secrets.values.KEY_TOKEN_SECRET;
      await page.goto(await serveGuidePage({ player, baseUrl: service.baseUrl, hash, tokenSecret, change }));
      await page.waitForFunction('document.querySelector("video").readyState >= 2', undefined, { timeout: 90_000 });
      await pauseAt(page, 8);
      await expect.poll(async () => (await shownFrame(page)).contrast, { timeout: 60_000 }).toBeGreaterThan(20);
      expect(await stateOf(page)).toMatchObject({ time: 8, height: 180 });
      await keepScreenshot(page, `codec-${codec}-${player}-${hash}`);
      const fetched = (await requests()).flatMap(({ url }) => /video\/(\w+)\/seg_/.exec(url)?.[1] ?? []);
      expect(new Set(fetched)).toEqual(new Set([`r180_${codec}`]));
      expect(errors).toEqual([]);
    },
  );
});
