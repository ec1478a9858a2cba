import { describe, expect, it } from 'vitest';
import { sourceArgs } from '../../tools/ffmpeg.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { needsPaletteFirst, paletteCommand, previewCommand } from './command.ts';
import { previewSize, previewSpan } from './make-preview.ts';

const words = (text: string) => text.split(' ');

const video = {
  streamIndex: 0,
  toneMap: null,
  fieldOrder: 'progressive',
  matrix: 'bt601',
  isFullRange: false,
  refusedMatrix: null,
  decoder: null,
} as VideoSource['video'];
const preview = {
  source: { path: 'source', video },
  startSec: 1.5,
  leadSec: 0,
  durationSec: 3,
  fps: 10,
  size: { width: 480, height: 270 },
};
const input = [
  ...words('-nostdin -hide_banner -nostats -loglevel warning -y'),
  ...sourceArgs,
  ...words('-max_pixels 36000000 -flags +unaligned -ss 1.500000 -t 3.000000 -i source'),
];
const scaled =
  'fps=fps=10:start_time=0:round=up,scale=w=480:h=270:flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt601,setsar=1,format=rgb24';
const limits = ['-map', '[out]', '-frames:v', '30', '-fps_mode', 'passthrough'];

describe('the command that makes a preview', () => {
  it('the preview command writes WebP', () => {
    expect(previewCommand('ffmpeg', { ...preview, format: 'webp', output: 'made/preview.webp' })).toEqual({
      program: 'ffmpeg',
      args: [
        ...input,
        '-filter_complex',
        `[0:0]${scaled},format=bgra[out]`,
        ...limits,
        ...words('-c:v libwebp_anim -quality 75 -compression_level 4 -loop 0 -f webp'),
        'made/preview.webp',
      ],
    });
  });

  it('the preview command writes GIF with its own palette', () => {
    expect(previewCommand('ffmpeg', { ...preview, format: 'gif', output: 'made/preview.gif' })).toEqual({
      program: 'ffmpeg',
      args: [
        ...input,
        '-filter_complex',
        `[0:0]${scaled},split[colours][frames];[colours]palettegen=stats_mode=full[palette];[frames][palette]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle[out]`,
        ...limits,
        ...words('-c:v gif -loop 0 -f gif'),
        'made/preview.gif',
      ],
    });
  });
});

describe('the palette of a GIF whose frames are too many for memory', () => {
  // Of 480 × 270 pixels, 518 frames have less than 256 MiB.
  it.each([
    ['gif', 15, 30, false],
    ['gif', 15, 35, true],
    ['webp', 15, 35, false],
  ] as const)('%s of %d s with %d frames a second', (format, durationSec, fps, isFirst) => {
    expect(needsPaletteFirst({ ...preview, durationSec, fps, format, output: 'x' })).toBe(isFirst);
  });

  it('is made by a decode of its own, and read by the one that writes', () => {
    const gif = { ...preview, format: 'gif', output: 'made/preview.gif' } as const;
    const made = paletteCommand('ffmpeg', gif, 'made/palette.png');
    const written = previewCommand('ffmpeg', gif, 'made/palette.png');
    const graph = `[0:0]${scaled},palettegen=stats_mode=full[out]`;
    expect(made.args).toEqual([
      ...input,
      '-filter_complex',
      graph,
      ...words('-map [out] -frames:v 1 made/palette.png'),
    ]);
    expect(written.args).toEqual([
      ...input,
      ...words('-i made/palette.png -filter_complex'),
      `[0:0]${scaled},null[frames];[frames][1:0]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle[out]`,
      ...limits,
      ...words('-c:v gif -loop 0 -f gif'),
      'made/preview.gif',
    ]);
  });
});

it('a preview decodes from the frame on that is shown at its start', () => {
  const { args } = previewCommand('ffmpeg', { ...preview, leadSec: 1.2, format: 'webp', output: 'made/preview.webp' });
  expect(args.join(' ')).toContain('-ss 0.300000 -t 4.200000 -i source');
  expect(args.join(' ')).toContain(']setpts=PTS-1.2/TB,fps=fps=10:start_time=0:round=up,');
});

describe('a preview', () => {
  it.each([
    [{ width: 1920, height: 1080 }, 480, { width: 480, height: 270 }],
    [{ width: 1920, height: 1080 }, 481, { width: 480, height: 270 }],
    [{ width: 1080, height: 1920 }, 480, { width: 480, height: 854 }],
    [{ width: 321, height: 181 }, 480, { width: 320, height: 180 }],
    // WebP stores at most 16,383 pixels on a side.
    [{ width: 64, height: 16_384 }, 480, { width: 62, height: 15_872 }],
    [{ width: 200, height: 16_384 }, 1280, { width: 198, height: 16_220 }],
    [{ width: 1, height: 9000 }, 480, { width: 2, height: 16_382 }],
  ])('a preview of %o with a width of %i is %o', (source, width, size) => {
    expect(previewSize(source, width)).toEqual(size);
  });

  it.each([
    ['a preview begins at the requested time', 60, { start_sec: 10, duration: 3 }, 10],
    ['a preview that would pass the end begins earlier', 60, { start_sec: 58, duration: 3 }, 57],
    ['a preview from past the end begins before the end', 60, { start_sec: 500, duration: 3 }, 57],
    ['a preview of a shorter video begins at its start', 2, { start_sec: 1, duration: 3 }, 0],
  ])('%s', (_, endSec, options, startSec) => {
    expect(previewSpan(endSec, options).startSec).toBe(startSec);
  });
});
