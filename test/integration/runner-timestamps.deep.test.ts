import { afterAll, describe, expect, it } from 'vitest';
import { changedSample, runTool, sample, similarity } from '../../testing/media.ts';
import { editedMp4 } from '../../testing/mp4-boxes.ts';
import { removeRigs } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// docs/reference/media.md, "Odd sources": long last frames, gaps in timestamps and edit lists, by decoded frames.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
const lapse = '-f lavfi -i testsrc2=s=320x180:r=1:d=11';
/** Seconds of a silent video, then a jump of `jumpSec` in its timestamps, and as much again. */
const jumping = (jumpSec: number) =>
  `-f lavfi -i testsrc2=s=320x180:r=25:d=4 -vf setpts=PTS+gte(N\\,50)*${jumpSec}/TB -fps_mode passthrough ${x264}`;

describe('a last frame that lasts long', () => {
  it.each([
    [
      'a time lapse of 1 frame a second in FLV, which states its end and not its length,',
      'lapse.flv',
      `${lapse} -c:v libx264`,
    ],
    ['a time lapse of 1 frame a second in Matroska', 'lapse.mkv', `${lapse} -c:v libx264 -pix_fmt yuv420p`],
  ])('%s keeps its length of 11 s', async (_, name, args) => {
    const made = await transcode(await sample(name, args));
    expect(made.stream.nb_read_packets).toBe('110');
    expect(made.warnings).toEqual([]);
    // Each second shows one frame, the last one too.
    const compared =
      '[0:v]select=not(mod(n\\,10)),settb=1,setpts=N[a];[1:v]format=yuv420p,settb=1,setpts=N[b];[a][b]ssim=stats_file=-';
    const inputs = ['-v', 'error', '-nostdin', '-i', made.path, '-i', await sample(name, args)];
    const seconds = await runTool('ffmpeg', [...inputs, '-filter_complex', compared, '-f', 'null', '-']);
    const alike = [...seconds.matchAll(/All:([\d.]+)/g)].map((match) => Number(match[1]));
    expect(alike).toHaveLength(11);
    expect(Math.min(...alike)).toBeGreaterThan(0.85);
  });
});

describe('gaps in timestamps', () => {
  it('a frame is held for over 30 s while the audio goes on', async () => {
    const slides = await sample(
      'slides-audio.mkv',
      `-f lavfi -i testsrc2=s=160x90:r=1:d=46 -f lavfi -i sine=f=440:r=48000:d=46 -vf select='eq(n,0)+eq(n,45)' -fps_mode passthrough ${x264} -c:a flac`,
    );
    const made = await transcode(slides);
    const { num, den } = rateOf(made.stream.r_frame_rate);
    expect(Math.abs(Number(made.stream.nb_read_packets) - (46 * num) / den)).toBeLessThanOrEqual(1);
  });

  it('a jump in broadcast timestamps is closed', async () => {
    const made = await transcode(await sample('jump.ts', `${jumping(200)} -f mpegts`));
    expect(Math.abs(Number(made.stream.nb_read_packets) - 100)).toBeLessThanOrEqual(1);
  });
});

describe('clips that were trimmed by an edit list', () => {
  const args = `-f lavfi -i testsrc2=s=320x180:r=25:d=8 -f lavfi -i sine=f=440:r=48000:d=8 -c:v libx264 -preset medium -crf 10 -g 50 -pix_fmt yuv420p -c:a aac`;

  it.each([
    ['between key frames', 3.4, 85],
    ['right before a key frame', 1.96, 49],
  ])('a clip from %s shows its own 2.4 s and nothing else', async (_, startSec, firstFrame) => {
    const whole = await sample('to-trim.mp4', args);
    const trimmed = await changedSample(`trimmed-${firstFrame}.mp4`, whole, (bytes) =>
      editedMp4(bytes, { startSec, durationSec: 2.4 }),
    );
    const made = await transcode(trimmed);
    expect(made.warnings).toEqual([]);
    expect(made.stream.nb_read_packets).toBe('60');
    const cut = `trim=start_frame=${firstFrame}:end_frame=${firstFrame + 60}`;
    expect(await similarity(made.path, whole, cut)).toBeGreaterThan(0.9);
  });

  it('a clip without a key frame at its start keeps its length, with a warning', async () => {
    const whole = await sample('to-trim.mp4', args);
    const made = await transcode(await sample('no-key-frame.mp4', `-i ${whole} -ss 1.4 -t 3 -c copy -copyinkf`));
    expect(Math.abs(Number(made.stream.nb_read_packets) - 75)).toBeLessThanOrEqual(3);
    expect(made.warnings).toEqual(['damaged_frames']);
  });
});

function rateOf(written: string): { num: number; den: number } {
  const [num = 0, den = 1] = written.split('/').map(Number);
  return { num, den };
}
