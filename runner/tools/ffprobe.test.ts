import { describe, expect, it } from 'vitest';
import {
  describeCommand,
  keyFramesCommand,
  packetsAtCommand,
  packetTimesCommand,
  parsePacketTime,
  sideDataCommand,
  streamPacketsCommand,
} from './ffprobe.ts';
import { ProgressReader } from './ffmpeg.ts';

const words = (text: string) => text.split(' ');

const look = [
  ...words('-v error -protocol_whitelist file'),
  ...words('-format_whitelist mov,matroska,mpegts,mpeg,avi,flv,asf,ogg,mxf,gif,apng,wav,mp3,flac,aac'),
  ...words('-probesize 20M -analyzeduration 20M'),
];

const entries = words(
  '-show_entries packet=stream_index,pts_time,dts_time,duration_time,flags -of compact=print_section=0',
);

describe('the commands that look at a source', () => {
  it('the describe command reads headers through the guard', () => {
    expect(describeCommand('ffprobe', 'source')).toEqual({
      program: 'ffprobe',
      args: [
        ...look,
        '-show_format',
        '-show_streams',
        '-show_programs',
        '-show_chapters',
        '-of',
        'json',
        '-i',
        'source',
      ],
    });
  });

  it.each([
    ['from the start', { fromSec: 0, packetsMax: 240 }, ['-read_intervals', '%+#240']],
    ['from the middle', { fromSec: 45.5, packetsMax: 240 }, ['-read_intervals', '+45.500%+#240']],
    ['all of them', { fromSec: 0, packetsMax: null }, []],
  ])('the packet command reads times %s', (_, interval, expected) => {
    expect(packetTimesCommand('ffprobe', 'source', { streamIndex: 1, ...interval }).args).toEqual([
      ...look,
      '-select_streams',
      '1',
      ...expected,
      '-show_entries',
      'packet=stream_index,pts_time,dts_time,duration_time,flags:packet_side_data=side_data_type',
      ...words('-of compact=print_section=0 -i source'),
    ]);
  });

  it.each([
    [19.5, '19.500000%20.500000'],
    [null, '%20.500000'],
  ])('packets are read from a place that seeking to %s finds', (fromSec, interval) => {
    expect(packetsAtCommand('ffprobe', 'source', { streamIndex: 1, fromSec, toSec: 20.5 }).args).toEqual([
      ...look,
      ...words(`-select_streams 1 -read_intervals ${interval}`),
      ...entries,
      ...words('-i source'),
    ]);
  });

  it('side data is read from frames at the start and later', () => {
    expect(sideDataCommand('ffprobe', 'source', { streamIndex: 2, laterSec: 30, frames: 16 }).args).toEqual([
      ...look,
      ...words('-max_pixels 36000000 -flags +unaligned'),
      ...words('-select_streams 2 -read_intervals %+#16,+30.000%+#16 -show_entries frame_side_data=side_data_type'),
      ...words('-of compact=print_section=0 -i source'),
    ]);
  });

  it('the sizes of key frames are read from several places', () => {
    expect(keyFramesCommand('ffprobe', 'source', { streamIndex: 1, fromSec: [1.5, 9], sampleSec: 2 }).args).toEqual([
      ...look,
      ...words('-max_pixels 36000000 -flags +unaligned'),
      ...words('-select_streams 1 -skip_frame nokey -read_intervals +1.500%+2,+9.000%+2'),
      ...words('-show_entries frame=width,height,sample_aspect_ratio -of compact=print_section=0 -i source'),
    ]);
  });

  it('the packets of all streams are read by one command', () => {
    expect(streamPacketsCommand('ffprobe', 'source').args).toEqual([...look, ...entries, '-i', 'source']);
  });

  it.each([
    [
      'stream_index=0|pts_time=1.5|dts_time=1.4|duration_time=0.04|flags=K_',
      {
        streamIndex: 0,
        timeSec: 1.5,
        isTimed: true,
        decodeSec: 1.4,
        durationSec: 0.04,
        isDiscarded: false,
        isKey: true,
      },
    ],
    [
      'stream_index=2|pts_time=N/A|dts_time=1.4|duration_time=N/A|flags=__',
      {
        streamIndex: 2,
        timeSec: 1.4,
        isTimed: false,
        decodeSec: 1.4,
        durationSec: 0,
        isDiscarded: false,
        isKey: false,
      },
    ],
    [
      'stream_index=1|pts_time=-0.02|dts_time=N/A|duration_time=0.02|flags=_D|',
      {
        streamIndex: 1,
        timeSec: -0.02,
        isTimed: true,
        decodeSec: null,
        durationSec: 0.02,
        isDiscarded: true,
        isKey: false,
      },
    ],
    ['stream_index=0|pts_time=N/A|dts_time=N/A|duration_time=0.04|flags=__', null],
    ['', null],
  ])('the packet line %j is parsed', (line, time) => {
    expect(parsePacketTime(line)).toEqual(time);
  });
});

describe('progress', () => {
  it('progress is read from the lines that ffmpeg prints, and values that are no number are ignored', () => {
    const seconds: number[] = [];
    const progress = new ProgressReader((sec) => seconds.push(sec));
    const lines = [
      'frame=10',
      'out_time_us=N/A',
      'progress=continue',
      'frame=25',
      'out_time_us=1000000',
      'out_time=00:00:01.000000',
    ];
    for (const line of lines) progress.line(line);
    expect([progress.frames, seconds]).toEqual([25, [1]]);
  });
});
