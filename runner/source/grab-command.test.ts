import { describe, expect, it } from 'vitest';
import { sourceArgs } from '../tools/ffmpeg.ts';
import type { VideoSource } from './examine-video.ts';
import { grabFramesCommand, parseFrameTimes } from './grab-command.ts';

const words = (text: string) => text.split(' ');

const video = {
  streamIndex: 1,
  toneMap: null,
  fieldOrder: 'tff',
  matrix: 'bt709',
  widePrimaries: null,
  refusedMatrix: null,
  decoder: null,
  hasAlpha: false,
  isFullRange: false,
} as VideoSource['video'];
const source = { path: 'source', video };
const size = { width: 640, height: 360 };

describe('the command that takes a frame', () => {
  it('the command for a frame seeks before the input and prints the time of the frame', () => {
    const command = grabFramesCommand('ffmpeg', { source, timesSec: [2.961], size, output: 'made/frame-%d.png' });
    expect(command).toEqual({
      program: 'ffmpeg',
      args: [
        ...words('-nostdin -hide_banner -nostats -loglevel warning -y'),
        ...sourceArgs,
        ...words('-max_pixels 36000000 -flags +unaligned -ss 2.961000 -i source -map 0:1 -vf'),
        'bwdif=mode=send_frame:parity=tff:deint=all,scale=w=640:h=360:flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt709,setsar=1,format=rgb24,metadata=mode=add:key=grabbed:value=1,metadata=mode=print:key=grabbed:file=-',
        ...words('-fps_mode passthrough -c:v png -compression_level 1 -f image2 -frames:v 1'),
        'made/frame-%d.png',
      ],
    });
  });

  it('the command for several frames selects the first from each time on', () => {
    const { args } = grabFramesCommand('ffmpeg', { source, timesSec: [2, 2.5, 4], size, output: 'made/frame-%d.png' });
    expect(args).toEqual(expect.arrayContaining(words('-ss 2.000000')));
    expect(args.join(' ')).toContain(
      "deint=all,select='eq(selected_n,0)+eq(selected_n,1)*gte(t,0.500000)+eq(selected_n,2)*gte(t,2.000000)',scale=",
    );
    expect(args.join(' ')).toContain('-frames:v 3 made/frame-%d.png');
  });

  it('the printed frame times are parsed', () => {
    const stdout =
      'frame:0    pts:115     pts_time:0.00898438\ngrabbed=1\nframe:1    pts:627     pts_time:0.0489844\ngrabbed=1\n';
    expect(parseFrameTimes(stdout)).toEqual([0.008_984_38, 0.048_984_4]);
    expect(parseFrameTimes('')).toEqual([]);
  });
});
