import { describe, expect, it } from 'vitest';
import { fieldOrderOf, idetCommand, mayBeInterlaced, parseIdet } from './interlacing.ts';

describe('interlacing', () => {
  it('interlacing is searched in a few frames of a guarded source', () => {
    expect(idetCommand('ffmpeg', 'source', { streamIndex: 2, fromSec: 1.5, isNear: true })).toEqual({
      program: 'ffmpeg',
      args: [
        '-nostdin',
        '-hide_banner',
        '-nostats',
        '-loglevel',
        'warning',
        '-y',
        '-protocol_whitelist',
        'file',
        '-format_whitelist',
        'mov,matroska,mpegts,mpeg,avi,flv,asf,ogg,mxf,gif,wav,mp3,flac,aac',
        '-max_pixels',
        '36000000',
        '-ss',
        '1.500000',
        '-noaccurate_seek',
        '-i',
        'source',
        '-map',
        '0:2',
        '-frames:v',
        '30',
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
    rotation: 0,
    hdr: 'none' as const,
    averageRate: { num: 25, den: 1 },
    isFlaggedInterlaced: false,
    width: 1920,
    height: 1080,
  };
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
    ['a rotated clip', { rotation: 90, width: 1080, height: 1920 }, false],
    ['4K', { width: 3840, height: 2160 }, false],
    ['VP9', { codec: 'vp9' }, false],
  ])('whether %s is searched for fields: %o is %s', (_, more, expected) => {
    expect(mayBeInterlaced({ ...hd, ...more })).toBe(expected);
  });

  it('the idet counts are those of the last frame', () => {
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
    ['the other order', [{ tff: 0, bff: 120, progressive: 2 }], true, 'bff'],
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
    ['hardly any movement, and a flag', [{ tff: 40, bff: 0, progressive: 20 }], true, 'tff'],
    ['no movement', [{ tff: 0, bff: 0, progressive: 0 }], true, 'progressive'],
    ['no decodable sample', [], true, 'progressive'],
  ] as const)('%s (%o, flagged %s) is %s', (_, counts, isFlagged, order) => {
    expect(fieldOrderOf(counts, isFlagged)).toBe(order);
  });
});
