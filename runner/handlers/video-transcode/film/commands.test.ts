import { describe, expect, it } from 'vitest';
import { cutCommand, encodeChunkCommand } from './commands.ts';

const words = (text: string) => text.split(' ');
const guard = words('-protocol_whitelist file -format_whitelist');
const demuxers = 'mov,matroska,mpegts,mpeg,avi,flv,asf,ogg,mxf,gif,wav,mp3,flac,aac';
const quiet = words('-nostdin -hide_banner -nostats -loglevel warning -y');

const graph = (args: readonly string[]) => args[args.indexOf('-filter_complex') + 1];

const cut = { path: 'source', streamIndex: 1, startSec: 1.4, output: 'made/sources/2.nut' };
const copied = (toSec: string) =>
  words(
    `-i source -map 0:1 -c copy -to ${toSec} -output_ts_offset 10 -map_metadata -1 -map_chapters -1 -f nut made/sources/2.nut`,
  );

describe('the command that cuts', () => {
  it.each([
    ['from the beginning of a source', 'mov', null, []],
    ['from a little after a key frame, where an index leads to it', 'matroska', 110.5, words('-ss 110.650000')],
    ['from before a key frame, where there is no index', 'mpegts', 110.5, words('-ss 110.000000')],
  ])('the command that cuts copies %s', (_, container, fromSec, seek) => {
    const part = { fromSec, toSec: 182 };
    expect(cutCommand('ffmpeg', { ...cut, container, part }).args).toEqual([
      ...quiet,
      '-copyts',
      ...guard,
      demuxers,
      ...words('-max_pixels 36000000'),
      ...seek,
      ...copied('183.400000'),
    ]);
  });
});

describe('the command that encodes a chunk', () => {
  const plan = {
    startSec: 1.4,
    grid: { rate: { num: 30_000, den: 1001 }, gopFrames: 60, segmentFrames: 180 },
    picture: {
      width: 180,
      height: 320,
      rotation: 90,
      toneMap: null,
      fieldOrder: 'tff' as const,
      matrix: 'bt709' as const,
      isFullRange: false,
      pixelFormat: 'yuv420p',
      hasZscale: true,
    },
    encoding: { crf: 23, preset: 'medium' as const },
  };
  const size = { id: 'r320_h264', width: 180, height: 320, bitrateMax: 400_000 };
  const rungs = [{ track: { ...size, codec: 'h264' as const, range: 'sdr' as const }, path: 'made/v.mp4' }];
  const command = (firstFrame: number, preset: 'medium' | 'ultrafast' = 'medium') =>
    encodeChunkCommand('ffmpeg', {
      path: 'source',
      plan: { ...plan, encoding: { crf: 23, preset } },
      chunk: { firstFrame, frames: 180, firstSegment: 1 + firstFrame / 180 },
      rungs,
    }).args;

  it('the frames of a chunk are counted from the start of the film and keep their times', () => {
    const before =
      '[0:0]transpose=clock,setpts=PTS-round(11.400000/TB),bwdif=mode=send_frame:parity=tff:deint=all,fps=fps=30000/1001:start_time=0,tpad=stop_mode=clone:stop=-1,';
    expect(graph(command(0))).toContain(`${before}trim=start_frame=0:end_frame=180,sidedata=`);
    expect(graph(command(360))).toContain(`${before}trim=start_frame=360:end_frame=540,setpts=PTS-2,sidedata=`);
    expect(graph(command(360, 'ultrafast'))).toContain('end_frame=540,setpts=PTS-0,');
    const args = command(360).join(' ');
    expect(args).toContain('-copyts -protocol_whitelist file -format_whitelist nut -max_pixels 36000000 -i source');
    expect(args).toContain(
      '-avoid_negative_ts disabled -movflags +frag_keyframe+empty_moov+default_base_moof+frag_disc',
    );
  });
});
