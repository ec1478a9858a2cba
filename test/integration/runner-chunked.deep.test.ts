import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { segmentTimes } from '#domain/media/dash-manifest.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';
import { makeChunked } from '../../testing/chunked.ts';
import { changedSample, decodingErrors, packetTimes, rotatedMp4, runTool, sample } from '../../testing/media.ts';
import { removeRigs, run, type RunnerRig, runnerRig, wholeTrack } from '../../testing/runner.ts';

// A chunked encode against the same source in one piece: frames, times and segments.

afterAll(removeRigs);

/** Frames that differ everywhere from their neighbours: a bar for each bit of the frame's number. */
const bars = Array.from(
  { length: 8 },
  (_, bit) => String.raw`drawbox=x=${bit * 40}:y=0:w=40:h=90:c=white:t=fill:enable=mod(floor(n/${2 ** bit})\,2)`,
).join(',');
const pattern = (rate: string, seconds = 20) => `-f lavfi -i testsrc2=s=320x180:r=${rate}:d=${seconds},${bars}`;
const tone = '-f lavfi -i sine=f=440:r=48000:d=20';
const x264 = '-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p';
const env = { X264_PRESET: 'veryfast' };

async function inOnePiece(source: string, profile: NamedProfile | null = null) {
  const rig = await runnerRig('video:transcode', source, {}, profile);
  const { stderr } = await run(rig, ['all'], env);
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error(stderr);
  return { rig, results: manifest.results, rev: manifest.rev };
}

type Made = { rig: RunnerRig<'video:transcode'>; results: Awaited<ReturnType<typeof makeChunked>>['results'] };

async function largest({ rig, results }: Made): Promise<string> {
  const top = results.video_tracks.toSorted((a, b) => b.height - a.height)[0];
  if (top === undefined) throw new Error('no video track');
  return wholeTrack(rig, top);
}

/** The PSNR of each frame against the reference's frame of the same number. */
async function likeness(path: string, reference: string): Promise<number[]> {
  const byNumber = 'settb=1/1000,setpts=N*40';
  const graph = `[0:v]${byNumber}[a];[1:v]${byNumber}[b];[a][b]psnr=stats_file=-`;
  const stats = await runTool('ffmpeg', [
    '-v',
    'error',
    '-nostdin',
    '-i',
    path,
    '-i',
    reference,
    '-lavfi',
    graph,
    '-f',
    'null',
    '-',
  ]);
  return [...stats.matchAll(/psnr_avg:(inf|[\d.]+)/g)].map(([, db]) => (db === 'inf' ? 100 : Number(db)));
}

/** What playlists say of the segments of every track. */
async function segmentsOf({ rig, results }: Made): Promise<string[]> {
  const tracks = [...results.video_tracks, ...results.audio_tracks];
  const texts = await Promise.all(
    tracks.map(async ({ id, playlist }) => `${id}\n${await readFile(rig.at(playlist), 'utf8')}`),
  );
  return texts.map((text) => text.replaceAll(/^#EXT-X-KEY.*\n/gm, ''));
}

/** Encoded and decoded fields of 50 a second. */
const fields = String.raw`-f lavfi -i testsrc2=s=320x180:r=50:d=20,${bars} ${tone} -vf tinterlace=interleave_top -flags +ildct+ilme`;
const hevc =
  '-c:v libx265 -preset ultrafast -pix_fmt yuv420p -x265-params log-level=error:open-gop=1:keyint=80:bframes=3';
const pq =
  '-vf format=yuv420p10le -c:v libx265 -preset ultrafast -x265-params log-level=error:keyint=75:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc';

/** Ten seconds of a broadcast. */
const broadcast = (size: string, fromSec: number) =>
  sample(
    `long-${size}.ts`,
    `-f lavfi -i testsrc2=s=${size}:r=25:d=10 ${tone} -t 10 ${x264} -c:a mp2 -output_ts_offset ${fromSec}`,
  );

const profiles = mediaProfilesSchema.parse({ profiles: { two: { audio: { tracks_max: 2 } } } });
const sources: [title: string, make: () => Promise<string>, profile?: NamedProfile | undefined][] = [
  [
    '23.976 frames a second in Matroska, which rounds times to a millisecond',
    () => sample('long-24.mkv', `${pattern('24000/1001')} ${tone} ${x264} -c:a aac`),
  ],
  [
    '29.97 frames a second with open GOPs',
    () =>
      sample(
        'long-open.mp4',
        `${pattern('30000/1001')} ${tone} ${x264} -x264-params open-gop=1:keyint=90:bframes=3 -c:a aac`,
      ),
  ],
  [
    'a rotated clip of variable rate, as from a phone',
    async () => {
      const vfr = String.raw`-vf select='not(eq(mod(n\,5)\,1))*not(eq(mod(n\,7)\,2))' -fps_mode passthrough`;
      const lying = await sample('long-vfr.mp4', `${pattern('30')} ${tone} ${vfr} ${x264} -c:a aac`);
      return changedSample('long-phone.mp4', lying, rotatedMp4);
    },
  ],
  ['HEVC with leading pictures', () => sample('long-hevc.mkv', `${pattern('25')} ${tone} ${hevc} -c:a aac`)],
  [
    'MPEG-2 TS with a start offset and key frames ten seconds apart',
    () => sample('long-offset.ts', `${pattern('25')} ${tone} ${x264} -g 250 -c:a mp2 -f mpegts -output_ts_offset 5000`),
  ],
  [
    'interlaced MPEG-2',
    () => sample('long-fields.ts', `${fields} -c:v mpeg2video -q:v 2 -g 15 -bf 2 -c:a mp2 -f mpegts`),
  ],
  [
    'three audio tracks, of which a profile takes two',
    () => sample('long-three.mkv', `${pattern('25')} ${tone} -map 0 ${'-map 1 '.repeat(3)}${x264} -c:a aac -b:a 32k`),
    profiles.byName.get('two'),
  ],
  [
    'a frame a second, shown long after it is decoded',
    () => sample('long-slow.mp4', `${pattern('1')} ${tone} ${x264} -force_key_frames 0,3,8,13 -bf 2 -c:a aac`),
  ],
  [
    'a broadcast whose frames change their size',
    async () => {
      const [narrow, wide] = [await broadcast('240x180', 0), await broadcast('480x270', 10)];
      return sample('long-resized.ts', `-i concat:${narrow}|${wide} -map 0 -c copy`);
    },
  ],
  ['HDR', () => sample('long-pq.mkv', `${pattern('25')} ${pq}`)],
];

describe('a chunked encode is the stream in one piece', () => {
  it.each(sources)('C12.15: %s gives the same frames, times and segments', async (_, make, given) => {
    const [source, profile] = [await make(), given ?? null];
    const [chunked, whole] = [await makeChunked(source, { env, profile }), await inOnePiece(source, profile)];
    expect(chunked.results.warnings).toEqual(whole.results.warnings);
    expect(chunked.results.source).toEqual(whole.results.source);
    const [path, reference] = [await largest(chunked), await largest(whole)];
    expect(await decodingErrors(path)).toBe('');
    const times = await packetTimes(reference);
    expect(await packetTimes(path)).toEqual(times);
    const psnr = await likeness(path, reference);
    expect(psnr).toHaveLength(times.length);
    expect(Math.min(...psnr)).toBeGreaterThan(30);
    expect(await segmentsOf(chunked)).toEqual(await segmentsOf(whole));
    for (const { kind, id } of tracksIn(whole)) {
      const timesIn = async ({ rig }: Made, rev: string) =>
        segmentTimes(await readFile(rig.at(videoKey('clip-1', rev, 'manifest.mpd')), 'utf8'), `${kind}/${id}`);
      expect(await timesIn(chunked, chunked.split.rev)).toEqual(await timesIn(whole, whole.rev));
    }
  });
});

describe('the seams of a chunked encode', () => {
  it('a chunked encode looks as good as one piece, at its seams too', async () => {
    const source = await clip();
    const [chunked, whole] = [
      await largest(await makeChunked(source, { env })),
      await largest(await inOnePiece(source)),
    ];
    const [ofChunks, ofWhole] = [await likeness(chunked, source), await likeness(whole, source)];
    expect(mean(ofChunks)).toBeGreaterThan(mean(ofWhole) - 0.1);
    const worse = ofWhole.map((db, frame) => db - (ofChunks[frame] ?? 0));
    expect(Math.max(...worse)).toBeLessThan(2);
  });
});

describe('audio and video of a chunked encode', () => {
  it('a flash and its beep are within 40 ms of each other at the start, at each seam and at the end', async () => {
    const on = String.raw`lt(mod(t\,3)\,0.12)`;
    const flash = `-f lavfi -i color=black:s=192x108:r=25:d=20,drawbox=c=white:t=fill:enable=${on}`;
    const beep = String.raw`-f lavfi -i aevalsrc=if(${on}\,sin(6283*t)\,0):s=48000:d=20`;
    const source = await sample('long-flash.mp4', `${flash} ${beep} ${x264} -g 50 -c:a aac`);
    const { rig, split: plan } = await makeChunked(source, { env });
    const master = rig.at(videoKey('clip-1', plan.rev, 'master.m3u8'));
    const flashes = await risesOf(master, '-map 0:v:0 -vf signalstats,metadata=print:file=-', 'signalstats.YAVG', 120);
    const level = '-map 0:a:0 -af asetnsamples=480,astats=metadata=1:reset=1,ametadata=print:file=-';
    const beeps = await risesOf(master, level, 'astats.Overall.RMS_level', -20);
    // ffmpeg counts from the audio's first packet, which comes before time 0.
    expect(flashes.map((at) => Number((at - (flashes[0] ?? 0)).toFixed(2)))).toEqual([0, 3, 6, 9, 12, 15, 18]);
    expect(beeps).toHaveLength(flashes.length);
    for (const [index, at] of beeps.entries()) expect(Math.abs(at - (flashes[index] ?? 0))).toBeLessThanOrEqual(0.04);
  });
});

/** The times, in seconds, at which a measure of a stream rises over `level`. */
async function risesOf(stream: string, filter: string, measure: string, level: number): Promise<number[]> {
  const input = `-v error -allowed_extensions ALL -i ${stream}`;
  const printed = await runTool('ffmpeg', `${input} ${filter} -f null -`.split(' '));
  const rises: number[] = [];
  let [timeSec, isHigh] = [0, false];
  for (const line of printed.split('\n')) {
    timeSec = Number(/pts_time:([\d.]+)/.exec(line)?.[1] ?? timeSec);
    const value = line.startsWith(`lavfi.${measure}=`) ? Number(line.slice(line.indexOf('=') + 1)) : null;
    if (value === null) continue;
    if (value > level && !isHigh) rises.push(timeSec);
    isHigh = value > level;
  }
  return rises;
}

describe('the storyboard of a chunked encode', () => {
  it('the chunks of a video make the sheets of its storyboard, a minute each', async () => {
    const source = await sample('long-storyboard.mp4', `-f lavfi -i testsrc2=s=64x36:r=10:d=200 ${x264}`);
    const [chunked, whole] = [await makeChunked(source, { env, chunkSec: 60 }), await inOnePiece(source)];
    const names = ['playlist.m3u8', 'cues.vtt'].map((name) => `storyboard/${name}`);
    const textsOf = ({ rig }: Made, rev: string) =>
      Promise.all(names.map((name) => readFile(rig.at(videoKey('clip-1', rev, name)), 'utf8')));
    expect(await textsOf(chunked, chunked.split.rev)).toEqual(await textsOf(whole, whole.rev));
    for (const number of [1, 2, 3, 4]) {
      const sheet = `storyboard/sheet_${number}.jpg`;
      const [made, expected] = [
        chunked.rig.at(videoKey('clip-1', chunked.split.rev, sheet)),
        whole.rig.at(videoKey('clip-1', whole.rev, sheet)),
      ];
      expect(Math.min(...(await likeness(made, expected)))).toBeGreaterThan(30);
    }
  });
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function tracksIn({ results }: Made) {
  return [
    ...results.video_tracks.map(({ id }) => ({ kind: 'video', id })),
    ...results.audio_tracks.map(({ id }) => ({ kind: 'audio', id })),
  ];
}

const clip = () => sample('long-parts.mp4', `${pattern('25')} ${tone} ${x264} -g 50 -c:a aac`);
