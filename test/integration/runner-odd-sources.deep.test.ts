import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  changedSample,
  channelLevels,
  colourAt,
  packetTimes,
  rotatedMp4,
  runTool,
  sample,
  similarity,
} from '../../testing/media.ts';
import { removeRigs, runnerRig, wholeTrack } from '../../testing/runner.ts';
import { refusal, transcode } from '../../testing/transcode.ts';

// The table "Odd sources" of docs/reference/media.md, with the real tools and a small generated source for each row.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
const pattern = (more = '') => `-f lavfi -i testsrc2=s=320x180:r=25:d=3${more}`;
const tone = (more = '') => `-f lavfi -i sine=f=440:r=48000:d=3${more}`;

const half = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);

const audioBegins = async (path: string) => {
  // With its own timestamps: ffmpeg would put the encoder's priming, which lies before 0, at 0.
  const open = ['-v', 'error', '-nostdin', '-copyts', '-i', path, '-map', '0:a', '-af'];
  const filters = 'silencedetect=n=-50dB:d=0.2,ametadata=mode=print:file=-';
  const heard = await runTool('ffmpeg', [...open, filters, '-f', 'null', '-']);
  return Number(/lavfi\.silence_end=([\d.]+)/.exec(heard)?.[1]);
};

describe('sources that are no video', () => {
  it('an audio-only source, also with cover art, is no_video_stream', async () => {
    const art = await sample(
      'art.mp3',
      `${tone()} -f lavfi -i color=red:s=64x64:d=0.04 -map 0 -map 1 -c:v mjpeg -disposition:v attached_pic -c:a libmp3lame`,
    );
    expect(await refusal(art)).toEqual([10, 'no_video_stream', false]);
  });

  it('a playlist as a source is refused before any file that it names is opened', async () => {
    const clip = await sample('plain.mp4', `${pattern()} ${x264}`);
    const playlists = [
      `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:3,\n${clip}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile ${clip}\n`,
    ];
    for (const content of playlists) expect(await refusal({ content })).toEqual([10, 'unsupported_media', false]);
    // The control: without the guard, ffmpeg opens such a playlist.
    const rig = await runnerRig('video:transcode', { content: playlists[1] ?? '' });
    const shown = await runTool('ffprobe', [
      '-v',
      'error',
      '-safe',
      '0',
      '-f',
      'concat',
      '-show_format',
      join(rig.dir, 'source/clip'),
    ]);
    expect(shown).toContain('format_name=concat');
  });

  it.each([
    ['text', 'unsupported_media'],
    ['', 'unsupported_media'],
    ['\0\0\0\u0018ftypmp42, and nothing after it', 'corrupt_input'],
  ])('a source with the content %j is refused as %s', async (content, code) => {
    expect(await refusal({ content })).toEqual([10, code, false]);
  });
});

describe('damaged sources', () => {
  it('a source cut off in the middle is corrupt_input, whether its index comes first or last', async () => {
    const front = await sample('front.mp4', `${pattern()} ${tone()} ${x264} -c:a aac -movflags +faststart`);
    const behind = await sample('behind.mp4', `${pattern()} ${tone()} ${x264} -c:a aac`);
    for (const path of [front, behind]) {
      const content = half(await readFile(path));
      expect(await refusal({ content })).toEqual([10, 'corrupt_input', false]);
    }
  });

  it('a source with a few bad bytes is repaired, with a warning', async () => {
    const long = await sample('long.mp4', `-f lavfi -i testsrc2=s=320x180:r=25:d=12 ${x264} -g 25`);
    const scratched = await changedSample('scratched.mp4', long, (bytes) => {
      const changed = Buffer.from(bytes);
      const at = Math.floor(bytes.length / 2);
      changed.fill(0x55, at, at + 1500);
      return changed;
    });
    const made = await transcode(scratched);
    expect(made.stream.nb_read_packets).toBe('300');
    expect(made.warnings).toEqual(['damaged_frames']);
  });
});

describe('odd video', () => {
  it('a source without audio makes a stream without an audio group', async () => {
    const made = await transcode(await sample('silent.mp4', `${pattern()} ${x264}`));
    expect(made.results.audio_tracks).toEqual([]);
    expect(made.results.streaming.default_audio_track_id).toBeNull();
    expect(made.results.video_tracks[0]?.audio_track_ids).toEqual([]);
    expect(made.master).not.toContain('AUDIO');
  });

  it('a rotation in the metadata is applied to the frames, and the ladder uses the rotated size', async () => {
    // Red is stored at the left; turned a quarter clockwise, it is shown above.
    const lying = await sample(
      'lying.mp4',
      `-f lavfi -i color=blue:s=320x180:r=25:d=2,drawbox=w=160:c=red:t=fill ${x264}`,
    );
    const made = await transcode(await changedSample('upright.mp4', lying, rotatedMp4));
    expect(made.results.video_tracks.map(({ id, width, height }) => [id, width, height])).toEqual([
      ['r320_h264', 180, 320],
    ]);
    expect(made.results.source.video).toMatchObject({ rotation: 90, width: 180, height: 320 });
    expect(made.stream.side_data_list ?? []).toEqual([]);
    const [above] = await colourAt(made.path, '100:100:40:20');
    const [below] = await colourAt(made.path, '100:100:40:200');
    expect([above > 200, below < 60]).toEqual([true, true]);
  });

  it('a rotation in a tag alone, which ffmpeg and browsers ignore, neither turns nor stretches frames', async () => {
    const untagged = await sample('other-tag.mkv', `${pattern()} -metadata:s:v rotatx=90 ${x264}`);
    const tagged = await changedSample('rotate-tag.mkv', untagged, (bytes) =>
      Buffer.from(bytes.toString('latin1').replace(/rotatx/i, 'rotate'), 'latin1'),
    );
    const { stream, path } = await transcode(tagged);
    expect([stream.width, stream.height]).toEqual([320, 180]);
    expect(await similarity(path, untagged)).toBeGreaterThan(0.9);
  });

  it.each([
    ['odd.mkv', '-f lavfi -i testsrc2=s=321x181:r=25:d=2 -c:v ffv1', 320, 180],
    ['tiny.mp4', `-f lavfi -i testsrc2=s=34x18:r=25:d=2 ${x264}`, 34, 18],
    ['anamorphic.mp4', `-f lavfi -i testsrc2=s=240x180:r=25:d=2,setsar=4/3 ${x264}`, 320, 180],
    ['narrow.mp4', `-f lavfi -i testsrc2=s=320x180:r=25:d=2,setsar=1/2 ${x264}`, 320, 360],
  ])('%s becomes a stream of even size with square pixels', async (name, args, width, height) => {
    const made = await transcode(await sample(name, args));
    expect(made.stream).toMatchObject({ width, height, sample_aspect_ratio: '1:1', nb_read_packets: '50' });
  });

  it.each([
    ['422.mkv', '-pix_fmt yuv422p10le -c:v ffv1'],
    ['full.mp4', '-pix_fmt yuvj444p -c:v libx264 -preset ultrafast -color_range pc'],
    ['rgb.mkv', '-pix_fmt bgr0 -c:v ffv1'],
  ])('%s becomes 8-bit 4:2:0 of limited range with the same colours', async (name, args) => {
    const source = await sample(name, `-f lavfi -i color=0x30C060:s=320x180:r=25:d=1 ${args}`);
    const made = await transcode(source);
    expect(made.stream).toMatchObject({
      pix_fmt: 'yuv420p',
      color_range: 'tv',
      color_space: 'bt709',
      color_transfer: 'bt709',
    });
    const [red, green, blue] = await colourAt(made.path, '100:100:10:10');
    for (const [shown, wanted] of [
      [red, 0x30],
      [green, 0xc0],
      [blue, 0x60],
    ] as const) {
      expect(Math.abs(shown - wanted)).toBeLessThan(8);
    }
  });

  it('an HDR source becomes an SDR stream without HDR metadata', async () => {
    const made = await transcode(
      await sample(
        'pq.mkv',
        '-f lavfi -i testsrc2=s=320x180:r=25:d=1 -vf format=yuv420p10le -c:v libx265 -preset ultrafast -x265-params log-level=error:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc',
      ),
    );
    expect(made.results.source.video?.hdr).toBe('pq');
    expect(made.warnings).toEqual(['above_profile']);
    const frames = await runTool('ffprobe', ['-v', 'error', '-show_frames', '-show_streams', made.path]);
    expect(frames).not.toMatch(/Mastering display|Content light level/);
    expect(made.stream).toMatchObject({
      pix_fmt: 'yuv420p',
      color_space: 'bt709',
      color_transfer: 'bt709',
      color_primaries: 'bt709',
    });
  });
});

describe('odd times', () => {
  it.each([
    [
      'a source of 120 frames a second has its rate halved',
      'fast.mp4',
      `-f lavfi -i testsrc2=s=320x180:r=120:d=2 ${x264}`,
      '60/1',
      120,
    ],
    [
      'a source of 12 frames a second keeps its rate',
      'slow.mp4',
      `-f lavfi -i testsrc2=s=320x180:r=12:d=2 ${x264}`,
      '12/1',
      24,
    ],
    [
      'a source of 23.976 frames a second with times in milliseconds keeps its rate',
      'long.mkv',
      `-f lavfi -i testsrc2=s=320x180:r=24000/1001:d=2 ${x264}`,
      '24000/1001',
      48,
    ],
    [
      'a source of variable rate gets a constant rate',
      'vfr.mkv',
      `-f lavfi -i testsrc2=s=320x180:r=30:d=4,select='not(eq(mod(n\\,5)\\,1))*not(eq(mod(n\\,7)\\,2))' -fps_mode passthrough ${x264}`,
      '30/1',
      120,
    ],
  ])('%s', async (_, name, args, rate, frames) => {
    const made = await transcode(await sample(name, args));
    expect(made.stream.r_frame_rate).toBe(rate);
    expect(Math.abs(Number(made.stream.nb_read_packets) - frames)).toBeLessThanOrEqual(1);
    const warning = { 'vfr.mkv': 'variable_frame_rate', 'fast.mp4': 'above_profile' }[name];
    expect(made.warnings).toEqual(warning === undefined ? [] : [warning]);
  });

  it('interlaced video is recognised by its frames, whatever its flag says', async () => {
    const fields = `-f lavfi -i testsrc2=s=720x576:r=50:d=3 -vf tinterlace=interleave_top,setfield=prog ${x264} -crf 10`;
    const made = await transcode(await sample('fields.mp4', fields));
    expect(made.results.source.video?.interlaced).toBe(true);
    expect(made.stream.field_order).toBe('progressive');
    const flagged = `-f lavfi -i testsrc2=s=320x180:r=25:d=3 ${x264} -flags +ildct -x264-params tff=1`;
    const frames = await transcode(await sample('flagged.mp4', flagged));
    expect(frames.results.source.video?.interlaced).toBe(false);
  });

  it('a video that changes its size on the way is fitted into the largest, with black around it', async () => {
    const narrow = await sample('narrow.ts', `-f lavfi -i color=red:s=320x240:r=25:d=2 ${x264}`);
    const wide = await sample('wide.ts', `-f lavfi -i color=lime:s=640x360:r=25:d=2 ${x264} -output_ts_offset 2`);
    const made = await transcode(await sample('resized.ts', `-i concat:${narrow}|${wide} -c copy`));
    expect([made.stream.width, made.stream.height, made.stream.nb_read_packets]).toEqual([640, 360, '100']);
    const [red, , blue] = await colourAt(made.path, '400:300:120:30', 1);
    expect([red > 200, blue < 60]).toEqual([true, true]);
    expect(Math.max(...(await colourAt(made.path, '60:360:0:0', 1)))).toBeLessThan(40);
    expect((await colourAt(made.path, '640:360:0:0', 3))[1]).toBeGreaterThan(200);
  });

  it('the offset between audio and video is kept, from time 0 on', async () => {
    // Both change at 1.5 s of a video that begins half a second after the audio.
    const source = await sample(
      'late-video.mkv',
      "-itsoffset 0.5 -f lavfi -i color=black:s=320x180:r=25:d=3,drawbox=c=white:t=fill:enable='gte(t,1)' " +
        `-f lavfi -i sine=f=440:r=48000:d=3.5 -af volume=0:enable='lt(t,1.5)' ${x264} -c:a flac`,
    );
    const made = await transcode(source);
    expect((await packetTimes(made.path))[0]).toBe(0);
    expect(made.stream.nb_read_packets).toBe('88');
    expect((await colourAt(made.path, '10:10:0:0', 1.4))[0]).toBeLessThan(40);
    expect((await colourAt(made.path, '10:10:0:0', 1.56))[0]).toBeGreaterThan(200);
    const [track] = made.results.audio_tracks;
    if (track === undefined) throw new Error('no audio');
    const before = await audioBegins(source);
    expect(Math.abs((await audioBegins(await wholeTrack(made.rig, track))) - before)).toBeLessThan(0.005);
  });

  it.each([
    ['ts', `${x264} -c:a aac`],
    ['mpg', '-c:v mpeg2video -q:v 3 -c:a mp2 -f vob'],
  ])(
    'audio that begins eight seconds late in a file .%s is found by every tool, and begins there',
    async (ext, codecs) => {
      // Neither container says at its start what the audio is like.
      const audio = '-itsoffset 8 -f lavfi -i sine=f=440:r=48000:d=1';
      const source = await sample(
        `late-audio.${ext}`,
        `-f lavfi -i testsrc2=s=320x180:r=25:d=9 ${audio} -map 0 -map 1 ${codecs}`,
      );
      const made = await transcode(source);
      const [track] = made.results.audio_tracks;
      if (track === undefined) throw new Error('no audio');
      expect(Math.abs((await audioBegins(await wholeTrack(made.rig, track))) - 8)).toBeLessThan(0.05);
    },
  );

  it('a source with timestamps from ten hours on begins at 0', async () => {
    const made = await transcode(
      await sample('late.ts', `${pattern()} ${tone()} ${x264} -c:a aac -output_ts_offset 36000 -muxdelay 0`),
    );
    const times = await packetTimes(made.path);
    // One more than the source has: its audio begins 21 ms, over half a frame, before its video.
    expect([times[0], times.length]).toEqual([0, 76]);
    expect(made.results.audio_tracks).toHaveLength(1);
  });

  it('a source with an edit list shows only what the edit list selects', async () => {
    const whole25 = await sample(
      'to-cut.mp4',
      `-f lavfi -i testsrc2=s=320x180:r=25:d=6 ${tone()} ${x264} -g 50 -c:a aac`,
    );
    const cut = await sample('cut.mp4', `-ss 1.4 -i ${whole25} -t 3 -c copy`);
    const made = await transcode(cut);
    // Without its edit list the file would show the 1.4 s since the last key frame too.
    expect(Math.abs(Number(made.stream.nb_read_packets) - 75)).toBeLessThanOrEqual(2);
    expect(made.warnings).toEqual([]);
    expect(await similarity(made.path, whole25, 'trim=start_frame=35:end_frame=110')).toBeGreaterThan(0.9);
  });

  it('the length of a source without one in its headers is counted', async () => {
    const piped = await sample('endless.mkv', `${pattern()} ${x264} -f matroska -live 1`);
    const made = await transcode(piped);
    expect(made.results.source.duration_sec).toBeCloseTo(3, 1);
    expect(made.stream.nb_read_packets).toBe('75');
  });

  it('a source of over twelve hours is refused', async () => {
    const endless = await sample('thirteen-hours.mp4', `-f lavfi -i color=s=64x64:r=1/600:d=46800 ${x264}`);
    expect(await refusal(endless)).toEqual([10, 'limit_exceeded', false]);
  });

  it('the last frame is held while the audio goes on', async () => {
    const made = await transcode(
      await sample('long-audio.mp4', `${pattern()} -f lavfi -i sine=f=440:r=48000:d=5 ${x264} -c:a aac`),
    );
    expect(made.stream.nb_read_packets).toBe('125');
    expect(await similarity(made.path, made.path, 'trim=end_frame=75,tpad=stop_mode=clone:stop=50')).toBeGreaterThan(
      0.95,
    );
  });
});

describe('odd audio', () => {
  it.each([
    ['six channels of PCM', 'six.mkv', 6, '-c:a pcm_s16le'],
    ['seven channels of AAC', 'seven.mp4', 7, '-c:a aac -b:a 256k'],
  ])('%s without a layout are mixed, the centre too', async (_, name, channels, codec) => {
    const layers = Array.from({ length: channels }, (__, channel) => (channel === 2 ? 'sin(6283*t)/2' : '0')).join('|');
    const source = await sample(
      `centre-${name}`,
      `-f lavfi -i testsrc2=s=160x90:r=25:d=2 -f lavfi -i aevalsrc=${layers}:s=48000:d=2 ${x264} ${codec}`,
    );
    const { rig, results } = await transcode(source);
    const [track] = results.audio_tracks;
    if (track === undefined) throw new Error('no audio track');
    const levels = await channelLevels(await wholeTrack(rig, track));
    expect(levels).toHaveLength(2);
    expect(Math.min(...levels)).toBeGreaterThan(-30);
  });

  it('audio tracks become stereo, eight at most, with the default of the source', async () => {
    const tracks = Array.from({ length: 9 }, (_, index) => `-f lavfi -i sine=f=${200 + 100 * index}:r=22050:d=2`).join(
      ' ',
    );
    const maps = Array.from({ length: 10 }, (_, index) => `-map ${index}`).join(' ');
    const source = await sample(
      'many.mkv',
      `-f lavfi -i testsrc2=s=320x180:r=25:d=2 ${tracks} ${maps} ${x264} -c:a flac -ac:a:1 6 -ac:a:2 4 -metadata:s:a:3 language=fre ` +
        '-metadata:s:a:4 language=fre -disposition:a:0 0 -disposition:a:3 default',
    );
    const made = await transcode(source);
    expect(made.results.audio_tracks).toHaveLength(8);
    expect(made.warnings).toEqual(['above_profile', 'audio_tracks_dropped']);
    expect(made.results.streaming.default_audio_track_id).toBe('audio_fr_aac_2ch');
    expect(made.results.audio_tracks.map(({ id }) => id).slice(2, 5)).toEqual([
      'audio_und_aac_2ch_3',
      'audio_fr_aac_2ch',
      'audio_fr_aac_2ch_2',
    ]);
    expect(made.results.audio_tracks.every(({ channels }) => channels === 2)).toBe(true);
    expect(made.master.match(/DEFAULT=YES/g)).toHaveLength(1);
    expect(made.master.match(/LANGUAGE=/g)).toHaveLength(2);
  });
});

describe('a video that stands still for most of its time', () => {
  it('a video with little motion for most of its time has a warning, and its master states the real peak and average', async () => {
    const noise = String.raw`noise=alls=60:allf=t:enable=between(t\,7\,10)`;
    const made = await transcode(
      await sample('still.mp4', `-f lavfi -i color=gray:s=320x180:r=25:d=24 -vf ${noise} ${x264} -crf 16`),
    );
    expect(made.warnings).toEqual(['uneven_bitrate']);
    const [, peak = 0, average = 0] = /BANDWIDTH=(\d+),AVERAGE-BANDWIDTH=(\d+)/.exec(made.master)?.map(Number) ?? [];
    expect(peak / average).toBeGreaterThan(2);
  });
});
