import { describe, expect, it } from 'vitest';
import { sourceArgs } from '../../../tools/ffmpeg.ts';
import { defaultEncoding } from '#domain/media/encoding-profile.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { VideoSource } from '../../../source/examine-video.ts';
import { measureCommand, parseScore, sampleCommand, trialCommand } from './commands.ts';

const words = (text: string) => text.split(' ');
const quiet = words('-nostdin -hide_banner -nostats -loglevel warning -y');
const grid = { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 150 };
const rung = (height: number, more: Partial<Rung> = {}): Rung => ({
  id: `r${height}_h264`,
  codec: 'h264',
  range: 'sdr',
  width: (height * 16) / 9,
  height,
  bitrateMax: 1_000_000,
  ...more,
});
const video = {
  streamIndex: 1,
  fieldOrder: 'progressive',
  toneMap: null,
  matrix: 'bt709',
  widePrimaries: null,
  hasAlpha: false,
  isFullRange: false,
  refusedMatrix: null,
  decoder: null,
  pixelFormat: 'yuv420p',
  hasZscale: true,
} as VideoSource['video'];

const scaled = (index: number, size: string) =>
  `[in${index}]scale=${size}:flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt709:out_color_matrix=bt709:out_range=limited,` +
  `setsar=1,format=yuv420p,setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited[out${index}]`;

describe('the commands that measure quality', () => {
  it('samples are taken from their places, joined, and written for every rung without loss', () => {
    const source = { path: 'source', video };
    const { args } = sampleCommand('ffmpeg', { source, grid, places: [0, 100], rungs: [rung(180), rung(360)] });
    const input = (seek: string) => [
      ...sourceArgs,
      ...words(`-max_pixels 36000000 -flags +unaligned ${seek}-t 2.500000 -i source`),
    ];
    const frames = 'fps=fps=25:start_time=0,trim=end_frame=50,setpts=PTS-STARTPTS';
    expect(args).toEqual([
      ...quiet,
      ...input(''),
      ...input('-ss 4.000000 '),
      '-filter_complex',
      [
        `[0:1]${frames}[sample0]`,
        `[1:1]${frames}[sample1]`,
        '[sample0][sample1]concat=n=2,fps=fps=25[joined]',
        '[joined]sidedata=mode=delete,split=2[in0][in1]',
        scaled(0, 'w=320:h=180'),
        scaled(1, 'w=640:h=360'),
      ].join(';'),
      ...words('-map [out0] -c:v ffvhuff -fps_mode passthrough -f nut made/samples/r180_h264.nut'),
      ...words('-map [out1] -c:v ffvhuff -fps_mode passthrough -f nut made/samples/r360_h264.nut'),
    ]);
  });

  it('a trial encodes the samples as the stream, with the CRF of the trial and on one thread', () => {
    const quality = { measure: 'vmaf', score: 0, crf: 27.3 } as const;
    const { args } = trialCommand('ffmpeg', [rung(180, { quality })], { grid, profile: defaultEncoding });
    expect(args).toEqual([
      ...quiet,
      ...words('-protocol_whitelist file -format_whitelist nut -i made/samples/r180_h264.nut -map 0:0'),
      ...words('-c:v libx264 -preset medium -profile:v high -pix_fmt yuv420p -crf 27.3 -maxrate 1000000'),
      ...words('-bufsize 2000000 -g 50 -keyint_min 50 -sc_threshold 0 -flags +cgop -fps_mode passthrough'),
      ...words('-map_metadata -1 -map_chapters -1 -threads 1 -f mp4 made/samples/r180_h264.mp4'),
    ]);
  });

  it('samples are compared frame by frame, samples of the rung below enlarged', () => {
    const comparisons = [
      { encoded: rung(360), reference: rung(360) },
      { encoded: rung(180), reference: rung(360) },
    ];
    const { program, args } = measureCommand('ffmpeg-vmaf', comparisons, { measure: 'vmaf', threads: 2 });
    const order = 'settb=1/25,setpts=N';
    const measure = 'libvmaf=n_threads=2:n_subsample=3:log_fmt=json:log_path=made/samples/';
    expect(program).toBe('ffmpeg-vmaf');
    expect(args[args.indexOf('-filter_complex') + 1]?.split(';')).toEqual([
      `[0:0]${order}[encoded0]`,
      `[1:0]${order}[source0]`,
      `[encoded0][source0]${measure}r360_h264-r360_h264.score[out0]`,
      `[2:0]${order},scale=w=640:h=360:flags=bicubic[encoded1]`,
      `[3:0]${order}[source1]`,
      `[encoded1][source1]${measure}r180_h264-r360_h264.score[out1]`,
    ]);
  });

  it.each([
    ['vmaf', '{"pooled_metrics": {"integer_motion": {"mean": 4.1}, "vmaf": {"min": 90.1, "mean": 93.25}}}', 93.25],
    ['ssim', 'n:1 Y:0.9 All:0.96 (14.1)\nn:2 Y:0.9 All:0.98 (15.2)\n', 0.97],
    ['vmaf', '{"pooled_metrics": {"vmaf": {"mean": nan}}}', null],
    ['ssim', '', null],
  ] as const)('the score of %s is the mean of all frames: %s', (measure, report, score) => {
    expect(parseScore(report, measure)).toEqual(score === null ? null : expect.closeTo(score, 6));
  });
});
