import { expect, it } from 'vitest';
import { rungsGraph } from './command.ts';
import { markInputArgs } from './watermark.ts';

const frameFormat = {
  width: 320,
  height: 180,
  toneMap: null,
  fieldOrder: 'progressive',
  matrix: 'bt709',
  widePrimaries: null,
  refusedMatrix: null,
  decoder: null,
  hasAlpha: false,
  isFullRange: false,
  pixelFormat: 'yuv420p',
  hasZscale: true,
  stored: { width: 320, height: 180, sampleAspect: 1 },
  isUpright: true,
} as const;
const rungs = [90, 180].map((height) => ({
  track: {
    id: `r${height}_h264`,
    codec: 'h264',
    range: 'sdr',
    width: (height * 16) / 9,
    height,
    bitrateMax: 400_000,
  } as const,
  path: `made/video/r${height}_h264.mp4`,
  mark: { path: `made/watermark_r${height}_h264.png`, width: 40, height: 20, x: height - 60, y: 8 },
}));

it('the watermark of each rung is an input of its own and is laid over the scaled frames in BT.709', () => {
  expect(markInputArgs(rungs, { num: 30_000, den: 1001 })).toEqual(
    rungs.flatMap(({ mark }) => [
      ...'-protocol_whitelist file -f png_pipe -framerate 30000/1001 -i'.split(' '),
      mark.path,
    ]),
  );
  expect(markInputArgs([{}], { num: 25, den: 1 })).toEqual([]);
  const graph = rungsGraph('[0:0]', ['trim=end_frame=75'], { video: frameFormat, rungs }).split(';');
  const mark =
    'scale=flags=bicubic+accurate_rnd+full_chroma_int:out_color_matrix=bt709:out_range=limited,format=yuva420p,' +
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited';
  expect(graph.slice(0, 1)).toEqual(['[0:0]trim=end_frame=75,sidedata=mode=delete,split=2[in0][in1]']);
  expect(graph[4]).toMatch(/^\[in1\]scale=w=320:h=180:.*range=limited\[plain1\]$/);
  expect(graph.slice(5)).toEqual([
    `[2:v]${mark}[mark2]`,
    '[plain1][mark2]overlay=x=120:y=8:format=yuv420:eof_action=repeat[out1]',
  ]);
});
