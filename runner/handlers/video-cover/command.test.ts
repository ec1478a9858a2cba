import { describe, expect, it } from 'vitest';
import type { VideoSource } from '../../source/examine-video.ts';
import { grabFrameCommand, parseFrameTimes } from './command.ts';
import { chooseFrame } from './frame-choice.ts';

const words = (text: string) => text.split(' ');

const video = {
  streamIndex: 1,
  toneMap: null,
  fieldOrder: 'tff',
  matrix: 'bt709',
  isFullRange: false,
} as VideoSource['video'];
const source = { path: 'source', video };
const size = { width: 640, height: 360 };

describe('the command that takes a frame', () => {
  it('seeks before it opens, and prints the time of what it took', () => {
    const command = grabFrameCommand('ffmpeg', {
      source,
      fromSec: 2.961,
      which: 'first',
      size,
      output: 'made/frame.png',
    });
    expect(command).toEqual({
      program: 'ffmpeg',
      args: [
        ...words('-nostdin -hide_banner -nostats -loglevel warning -y -protocol_whitelist file'),
        ...words('-format_whitelist mov,matroska,mpegts,mpeg,avi,flv,asf,ogg,mxf,wav,mp3,flac,aac'),
        ...words('-max_pixels 36000000 -ss 2.961000 -i source -map 0:1 -frames:v 1 -vf'),
        'bwdif=mode=send_frame:parity=tff:deint=all,scale=w=640:h=360:flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt709,setsar=1,format=rgb24,metadata=mode=add:key=grabbed:value=1,metadata=mode=print:key=grabbed:file=-',
        ...words('-fps_mode passthrough -c:v png -compression_level 1 -f image2 -update 1'),
        'made/frame.png',
      ],
    });
  });

  it('goes on to the end for the last frame', () => {
    const command = grabFrameCommand('ffmpeg', { source, fromSec: 0, which: 'last', size, output: 'x.png' });
    expect(command.args).not.toContain('-frames:v');
    expect(command.args).not.toContain('-ss');
  });

  it('has its times read', () => {
    const stdout =
      'frame:0    pts:115     pts_time:0.00898438\ngrabbed=1\nframe:1    pts:627     pts_time:0.0489844\ngrabbed=1\n';
    expect(parseFrameTimes(stdout)).toEqual([0.008_984_38, 0.048_984_4]);
    expect(parseFrameTimes('')).toEqual([]);
  });
});

describe('a representative frame', () => {
  const good = { timeSec: 1, mean: 120, deviation: 50, sharpness: 10 };
  it.each([
    ['is the one most wanted when all are alike', [good, { ...good, timeSec: 2 }], 1],
    [
      'is not black',
      [
        { ...good, mean: 3 },
        { ...good, timeSec: 2 },
      ],
      2,
    ],
    [
      'is not white',
      [
        { ...good, mean: 250 },
        { ...good, timeSec: 2 },
      ],
      2,
    ],
    [
      'is not flat',
      [
        { ...good, deviation: 2 },
        { ...good, timeSec: 2 },
      ],
      2,
    ],
    [
      'is not blurred beside the others',
      [
        { ...good, sharpness: 4 },
        { ...good, timeSec: 2 },
      ],
      2,
    ],
    [
      'may be soft when all are',
      [
        { ...good, sharpness: 1.5 },
        { ...good, timeSec: 2, sharpness: 2 },
      ],
      1,
    ],
    [
      'has the most contrast when nothing shows anything',
      [
        { ...good, mean: 2, deviation: 1 },
        { ...good, timeSec: 2, mean: 5, deviation: 4 },
      ],
      2,
    ],
  ])('%s', (_, looks, timeSec) => {
    expect(chooseFrame(looks)?.timeSec).toBe(timeSec);
  });
});
