import { describe, expect, it } from 'vitest';
import { sourceArgs } from '../../../tools/ffmpeg.ts';
import { cutCommand, encodeChunkCommand } from './commands.ts';

const words = (text: string) => text.split(' ');
const quiet = words('-nostdin -hide_banner -nostats -loglevel warning -y');

const graph = (args: readonly string[]) => args[args.indexOf('-filter_complex') + 1];

const source = { path: 'source', streamIndex: 1, startSec: 1.4 };
const outputOf = (chunk: number, cut: { fromSec: number | null; toSec: number }) => ({
  cut,
  output: `made/${chunk}.nut`,
  firstPacket: `made/${chunk}.first`,
});
const copied = (chunk: number, { toSec, ss = '', offset = 10 }: { toSec: string; ss?: string; offset?: number }) =>
  words(
    `-map 0:1 -c copy ${ss}-to ${toSec} -output_ts_offset ${offset} -map_metadata -1 -map_chapters -1 -f nut made/${chunk}.nut ` +
      `-map 0:1 -c copy ${ss}-frames:v 1 -output_ts_offset ${offset} -map_metadata -1 -map_chapters -1 -f framecrc made/${chunk}.first`,
  );

describe('the command that cuts', () => {
  it.each([
    ['from the beginning of a source', 'mov', null, []],
    ['from a little after a key frame, where an index leads to it', 'matroska', 110.5, words('-ss 110.650000')],
    ['from before a key frame, where there is no index', 'mpegts', 110.5, words('-ss 110.000000')],
  ])('the command that cuts copies %s', (_, container, fromSec, seek) => {
    const cuts = [outputOf(2, { fromSec, toSec: 182 })];
    expect(cutCommand('ffmpeg', { ...source, container, cuts }).args).toEqual([
      ...quiet,
      '-copyts',
      ...sourceArgs,
      ...words('-max_pixels 36000000 -flags +unaligned'),
      ...seek,
      ...words('-i source'),
      ...copied(2, { toSec: '183.400000' }),
    ]);
  });

  it('one command copies neighbouring cuts, each after the first from whole seconds before its key frame', () => {
    const cuts = [
      outputOf(0, { fromSec: null, toSec: 62 }),
      outputOf(1, { fromSec: 0.5, toSec: 122 }),
      outputOf(2, { fromSec: 110.5, toSec: 182 }),
    ];
    const { args } = cutCommand('ffmpeg', { ...source, container: 'mov', cuts });
    expect(args.slice(args.indexOf('source') + 1)).toEqual([
      ...copied(0, { toSec: '63.400000' }),
      ...copied(1, { toSec: '123.400000' }),
      ...copied(2, { toSec: '183.400000', ss: '-ss 110 ', offset: 120 }),
    ]);
  });
});

describe('the command that encodes a chunk', () => {
  const plan = {
    startSec: 1.4,
    grid: { rate: { num: 30_000, den: 1001 }, gopFrames: 60, segmentFrames: 180 },
    frame: {
      width: 180,
      height: 320,
      rotation: 90,
      toneMap: null,
      fieldOrder: 'tff' as const,
      matrix: 'bt709' as const,
      widePrimaries: null,
      refusedMatrix: null,
      decoder: null,
      hasAlpha: false,
      isFullRange: false,
      pixelFormat: 'yuv420p',
      hasZscale: true,
      stored: { width: 320, height: 180, sampleAspect: 1 },
      isUpright: false,
    },
    encoding: { crf: 23, preset: 'medium' as const },
  };
  const size = { id: 'r320_h264', width: 180, height: 320, bitrateMax: 400_000 };
  const rungs = [{ track: { ...size, codec: 'h264' as const, range: 'sdr' as const }, path: 'made/v.mp4' }];
  const command = (firstFrame: number, preset: 'medium' | 'ultrafast' = 'medium', rotation = 90) =>
    encodeChunkCommand('ffmpeg', {
      path: 'source',
      plan: { ...plan, frame: { ...plan.frame, rotation }, encoding: { crf: 23, preset } },
      chunk: { firstFrame, frames: 180, firstSegment: 1 + firstFrame / 180 },
      rungs,
    }).args;

  it('the frames of a chunk are counted from the start of the video and keep their times', () => {
    const before =
      '[0:0]transpose=clock,setpts=PTS-round(11.400000/TB),bwdif=mode=send_frame:parity=tff:deint=all,fps=fps=30000/1001:start_time=0,tpad=stop_mode=clone:stop=-1,';
    expect(graph(command(0))).toContain(`${before}trim=start_frame=0:end_frame=180,sidedata=`);
    expect(graph(command(360))).toContain(`${before}trim=start_frame=360:end_frame=540,setpts=PTS-2,sidedata=`);
    expect(graph(command(360, 'ultrafast'))).toContain('end_frame=540,setpts=PTS-0,');
    const args = command(360).join(' ');
    expect(args).toContain(
      '-copyts -protocol_whitelist file -format_whitelist nut -max_pixels 36000000 -flags +unaligned -i source',
    );
    expect(args).toContain(
      '-avoid_negative_ts disabled -movflags +frag_keyframe+empty_moov+default_base_moof+frag_disc',
    );
  });

  it.each([
    [0, ''],
    [90, 'transpose=clock,'],
    [180, 'hflip,vflip,'],
    [270, 'transpose=cclock,'],
  ])('frames that are shown turned by %d degrees are turned', (rotation, filters) => {
    expect(graph(command(0, 'medium', rotation))).toMatch(new RegExp(`^\\[0:0\\]${filters}setpts=PTS-round`));
  });
});
