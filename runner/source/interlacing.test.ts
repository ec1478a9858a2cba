import { describe, expect, it } from 'vitest';
import { sourceArgs } from '../tools/ffmpeg.ts';
import { fieldOrderOf, idetCommand, mayBeInterlaced, parseIdet } from './interlacing.ts';

describe('interlacing', () => {
  it('interlacing is searched in a few frames of a guarded source', () => {
    expect(
      idetCommand('ffmpeg', 'source', { streamIndex: 2, fromSec: 1.5, isNear: true, frames: 15, refusedMatrix: null }),
    ).toEqual({
      program: 'ffmpeg',
      args: [
        '-nostdin',
        '-hide_banner',
        '-nostats',
        '-loglevel',
        'warning',
        '-y',
        ...sourceArgs,
        '-max_pixels',
        '36000000',
        '-flags',
        '+unaligned',
        '-ss',
        '1.500000',
        '-noaccurate_seek',
        '-i',
        'source',
        '-map',
        '0:2',
        '-frames:v',
        '15',
        '-vf',
        'idet,metadata=mode=print:file=-',
        '-f',
        'null',
        '-',
      ],
    });
  });

  const hd = {
    codec: 'h264',
    isUpright: true,
    hdr: 'none' as const,
    averageRate: { num: 25, den: 1 },
    isFlaggedInterlaced: false,
    stored: { width: 1920, height: 1080, sampleAspect: 1 },
  };
  const lines = (height: number) => ({ stored: { ...hd.stored, height } });
  it.each([
    ['video of 25 frames a second without a flag', {}, true],
    ['video of unknown rate', { averageRate: null }, true],
    ['video of 50 frames a second', { averageRate: { num: 50, den: 1 } }, false],
    [
      'video of 50 frames a second with the flag',
      { averageRate: { num: 50, den: 1 }, isFlaggedInterlaced: true },
      true,
    ],
    ['HDR', { hdr: 'hlg' as const }, false],
    ['video of 29.97 frames a second', { averageRate: { num: 2997, den: 100 } }, true],
    ['a DVD of 480 lines', lines(480), true],
    ['video of 720 lines', lines(720), false],
    ['video of 360 lines with the flag', { ...lines(360), isFlaggedInterlaced: true }, true],
    ['4K with the flag', { ...lines(2160), isFlaggedInterlaced: true }, false],
    ['VP9', { codec: 'vp9' }, false],
  ])('whether %s is searched for fields: %o is %s', (_, more, expected) => {
    expect(mayBeInterlaced({ ...hd, ...more })).toBe(expected);
  });

  it('the idet counts are read from the last frame', () => {
    const stdout = [
      'frame:0 pts:0 pts_time:0',
      'lavfi.idet.multiple.tff=1.00',
      'lavfi.idet.multiple.bff=0.00',
      'lavfi.idet.multiple.progressive=0.00',
      'frame:1 pts:1 pts_time:0.04',
      'lavfi.idet.multiple.tff=41.00',
      'lavfi.idet.multiple.bff=11.00',
      'lavfi.idet.multiple.progressive=9.00',
    ].join('\n');
    expect(parseIdet(stdout)).toEqual({ tff: 41, bff: 11, progressive: 9 });
    expect(parseIdet('')).toEqual({ tff: 0, bff: 0, progressive: 0 });
  });

  it.each([
    ['fields of one order throughout', [{ tff: 61, bff: 0, progressive: 0 }], false, 'tff'],
    ['whole frames', [{ tff: 0, bff: 0, progressive: 61 }], false, 'progressive'],
    ['whole frames with the flag of fields', [{ tff: 0, bff: 0, progressive: 61 }], true, 'progressive'],
    [
      'a drawing with edges that look like fields of both orders',
      [{ tff: 41, bff: 11, progressive: 9 }],
      false,
      'progressive',
    ],
    [
      'samples that disagree',
      [
        { tff: 61, bff: 0, progressive: 0 },
        { tff: 0, bff: 61, progressive: 0 },
      ],
      false,
      'progressive',
    ],
    ['a drawing with the flag of fields', [{ tff: 36, bff: 49, progressive: 5 }], true, 'progressive'],
    ['hardly any movement, and no flag', [{ tff: 40, bff: 0, progressive: 20 }], false, 'progressive'],
    ['no movement', [{ tff: 0, bff: 0, progressive: 0 }], true, 'progressive'],
    ['no decodable sample', [], true, 'progressive'],
  ] as const)('%s (%o, flagged %s) is %s', (_, counts, isFlagged, order) => {
    expect(fieldOrderOf(counts, isFlagged)).toBe(order);
  });
});
