import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';
import { changedSample, probeStreams, runTool, sample } from '../../testing/media.ts';
import { useImageFfmpeg } from '../../testing/image-ffmpeg.ts';
import { removeRigs, run, runnerRig, type RunnerRig, wholeTrack } from '../../testing/runner.ts';

// Audio of sources that users of other tools reported, decoded and measured.

useImageFfmpeg();
afterAll(removeRigs);

const { byName } = mediaProfilesSchema.parse({ profiles: { loud: { audio: { loudness: -16 } } } });

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25';

/** Four seconds of a pattern and a tone in MPEG-TS. */
const partOf = (name: string, hz: number, more: string, rate = 48_000) =>
  sample(
    name,
    `-f lavfi -i testsrc2=size=320x180:rate=25:duration=4 -f lavfi -i sine=${hz}:sample_rate=${rate}:duration=4 ${x264} ${more} -f mpegts`,
  );

/** Files one after another. */
async function joined(name: string, parts: readonly string[]): Promise<string> {
  const bytes = Buffer.concat(await Promise.all(parts.map((part) => readFile(part))));
  return changedSample(
    name,
    parts[0] ?? '',
    Object.assign(() => bytes, { toString: () => parts.join(' ') }),
  );
}

/** Which of `tones` (Hz) is heard in each half second, 0 for silence; and how long the audio is. */
async function heard(path: string, tones: readonly number[]): Promise<{ halves: number[]; sec: number }> {
  const rate = 48_000;
  const args = ['-v', 'error', '-nostdin', '-i', path, '-map', '0:a:0', '-ac', '1', '-f', 's16le', '-c:a', 'pcm_s16le'];
  const file = `${path}.pcm`;
  await runTool('ffmpeg', [...args, '-y', file]);
  const bytes = await readFile(file);
  const samples = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  const half = rate / 2;
  const halves = Array.from({ length: Math.round(samples.length / half) }, (_, index) => {
    // The middle of each half second: encoders smear a change over a frame.
    const part = samples.subarray(index * half + half / 4, index * half + (half * 3) / 4);
    const powers = tones.map((tone) => powerAt(part, tone / rate));
    const loudest = powers.indexOf(Math.max(...powers));
    return (powers[loudest] ?? 0) > 100 ? (tones[loudest] ?? 0) : 0;
  });
  return { halves, sec: samples.length / rate };
}

/** The amplitude of a frequency, in cycles a sample. */
function powerAt(samples: Int16Array, frequency: number): number {
  let [re, im] = [0, 0];
  for (const [n, value] of samples.entries()) {
    re += value * Math.cos(2 * Math.PI * frequency * n);
    im += value * Math.sin(2 * Math.PI * frequency * n);
  }
  return (2 * Math.hypot(re, im)) / Math.max(1, samples.length);
}

async function streamed(source: string, profile: NamedProfile | null = null) {
  const rig = await runnerRig('video:transcode', source, {}, profile);
  const { stderr } = await run(rig, ['all']);
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error(stderr);
  return { rig, results: manifest.results, warnings: manifest.results.warnings.map(({ code }) => code) };
}

type Results = Awaited<ReturnType<typeof streamed>>['results'];

async function trackOf(rig: RunnerRig, { audio_tracks: [track] }: Results): Promise<string> {
  if (track === undefined) throw new Error('no audio track');
  return wholeTrack(rig, track);
}

async function videoSec(rig: RunnerRig, { video_tracks: [track] }: Results): Promise<number> {
  if (track === undefined) throw new Error('no video track');
  const [stream] = await probeStreams(await wholeTrack(rig, track));
  return Number(stream?.nb_read_packets) / 25;
}

const eight = (...tones: number[]) => tones.flatMap((tone) => Array.from({ length: 8 }, () => tone));
const aacFrameSec = 1024 / 48_000;

/** As broadcasts switch at each advertisement. */
const stereoAnd51 = async () =>
  joined('ac3-switches.ts', [
    await partOf('ac3-1.ts', 300, '-c:a ac3 -ac 2'),
    await partOf('ac3-2.ts', 600, '-c:a ac3 -ac 6 -output_ts_offset 4'),
    await partOf('ac3-3.ts', 900, '-c:a ac3 -ac 2 -output_ts_offset 8'),
    await partOf('ac3-4.ts', 1200, '-c:a ac3 -ac 6 -output_ts_offset 12'),
  ]);
const monoAndStereo = async () =>
  joined('aac-switches.ts', [
    await partOf('aac-1.ts', 300, '-c:a aac -ac 1'),
    await partOf('aac-2.ts', 600, '-c:a aac -ac 2 -output_ts_offset 4'),
  ]);
const twoRates = async () =>
  joined('rate-switches.ts', [
    await partOf('rate-1.ts', 300, '-c:a aac -ac 2'),
    await partOf('rate-2.ts', 600, '-c:a aac -ac 2 -ar 44100 -output_ts_offset 4', 44_100),
  ]);

describe('audio whose parameters change on the way', () => {
  it.each([
    ['from 2.0 to 5.1 and back', stereoAnd51, [300, 600, 900, 1200]],
    ['from mono to stereo', monoAndStereo, [300, 600]],
    ['from 48 to 44.1 kHz', twoRates, [300, 600]],
  ])('audio that changes %s keeps its time and is as long as the video', async (_, source, tones) => {
    const made = await streamed(await source());
    const { halves, sec } = await heard(await trackOf(made.rig, made.results), tones);
    expect(halves).toEqual(eight(...tones));
    expect(Math.abs(sec - (await videoSec(made.rig, made.results)))).toBeLessThan(2 * aacFrameSec);
    expect(made.warnings).not.toContain('audio_length_differs');
  });

  it('audio that changes is measured whole where the profile sets its loudness', async () => {
    const made = await streamed(await stereoAnd51(), byName.get('loud'));
    const { halves } = await heard(await trackOf(made.rig, made.results), [300, 600, 900, 1200]);
    expect(halves).toEqual(eight(300, 600, 900, 1200));
    expect(made.results.audio_tracks[0]?.loudness?.integrated_lufs).toBeCloseTo(-16, 0);
  });
});

describe('audio that does not cover its video', () => {
  it('C16.17: an audio track that ends before the video has a warning', async () => {
    const source = await sample(
      'short-audio.mp4',
      `-f lavfi -i testsrc2=size=320x180:rate=25:duration=4 -f lavfi -i sine=300:sample_rate=48000:duration=3 ${x264} -c:a aac`,
    );
    const made = await streamed(source);
    const { halves } = await heard(await trackOf(made.rig, made.results), [300]);
    expect(halves).toEqual([300, 300, 300, 300, 300, 300, 0, 0]);
    expect(made.warnings).toEqual(['audio_shorter_than_video']);
  });

  it('C16.17: a broadcast whose audio gets another PID has a warning for each of its tracks', async () => {
    const parts = [
      await partOf('pid-1.ts', 300, '-c:a aac -ac 2 -streamid 1:257'),
      await partOf('pid-2.ts', 600, '-c:a aac -ac 2 -streamid 1:300 -output_ts_offset 4'),
    ];
    const made = await streamed(await joined('pids.ts', parts));
    expect(made.warnings).toEqual(['audio_shorter_than_video', 'audio_shorter_than_video']);
  });
});
