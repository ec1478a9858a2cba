import { describe, expect, it } from 'vitest';
import { parseProbe, readSource } from './probe.ts';

const video = {
  index: 0,
  codec_type: 'video',
  codec_name: 'h264',
  width: 1920,
  height: 1080,
  pix_fmt: 'yuv420p',
  avg_frame_rate: '25/1',
  start_time: '0.000000',
  duration: '10.000000',
  disposition: { default: 1 },
};
const audio = {
  index: 1,
  codec_type: 'audio',
  codec_name: 'aac',
  channels: 2,
  channel_layout: 'stereo',
  sample_rate: '48000',
  start_time: '0.000000',
  duration: '10.010000',
  disposition: { default: 1 },
  tags: { language: 'eng', handler_name: 'SoundHandler' },
};
const format = { format_name: 'mov,mp4,m4a,3gp,3g2,mj2', start_time: '0.000000', duration: '10.010000' };

const read = (streams: object[], more: object = {}) =>
  readSource(parseProbe(JSON.stringify({ streams, format: { ...format, ...more } })));
const readVideo = (more: object) => read([{ ...video, ...more }]).video;

describe('what the headers of a source say', () => {
  it('is read whole', () => {
    expect(read([video, audio])).toEqual({
      container: 'mov',
      durationSec: 10.01,
      video: {
        streamIndex: 0,
        codec: 'h264',
        width: 1920,
        height: 1080,
        averageRate: { num: 25, den: 1 },
        rotation: 0,
        hdr: 'none',
        pixelFormat: 'yuv420p',
        isFlaggedInterlaced: false,
        isFullRange: false,
        matrix: 'bt709',
        startSec: 0,
        endSec: 10,
      },
      audio: [
        {
          streamIndex: 1,
          codec: 'aac',
          channels: 2,
          sampleRate: 48_000,
          channelLayout: 'stereo',
          language: 'eng',
          title: undefined,
          isDefault: true,
          role: null,
          endSec: 10.01,
        },
      ],
      warnings: [],
    });
  });

  it.each([
    [
      'rotation in the display matrix is counterclockwise',
      { side_data_list: [{ side_data_type: 'Display Matrix', rotation: -90 }] },
      { rotation: 90, width: 1080, height: 1920 },
    ],
    [
      'rotation of 180',
      { side_data_list: [{ side_data_type: 'Display Matrix', rotation: 180 }] },
      { rotation: 180, width: 1920 },
    ],
    ['rotation in the tag of old files', { tags: { rotate: '270' } }, { rotation: 270, width: 1080 }],
    [
      'wide pixels',
      { width: 720, height: 576, sample_aspect_ratio: '64:45' },
      { width: 1024, height: 576, matrix: 'bt601' },
    ],
    ['an aspect that is not known', { sample_aspect_ratio: '0:1' }, { width: 1920 }],
    [
      'PQ',
      { color_transfer: 'smpte2084', pix_fmt: 'yuv420p10le', color_space: 'bt2020nc' },
      { hdr: 'pq', matrix: 'bt2020' },
    ],
    ['HLG', { color_transfer: 'arib-std-b67' }, { hdr: 'hlg' }],
    ['ten bits without a transfer are no HDR', { pix_fmt: 'yuv420p10le' }, { hdr: 'none' }],
    [
      'Dolby Vision 5',
      { side_data_list: [{ side_data_type: 'DOVI configuration record', dv_profile: 5 }] },
      { hdr: 'dolby_vision' },
    ],
    [
      'Dolby Vision 8 goes by its base layer',
      { color_transfer: 'smpte2084', side_data_list: [{ side_data_type: 'DOVI configuration record', dv_profile: 8 }] },
      { hdr: 'pq' },
    ],
    ['full range by its tag', { color_range: 'pc' }, { isFullRange: true }],
    ['full range by its pixel format', { pix_fmt: 'yuvj420p' }, { isFullRange: true }],
    ['fields', { field_order: 'tt' }, { isFlaggedInterlaced: true }],
    ['an untagged SD picture is BT.601', { width: 640, height: 360 }, { matrix: 'bt601' }],
    ['a tagged one is what it says', { width: 640, height: 360, color_space: 'bt709' }, { matrix: 'bt709' }],
    [
      'no average rate',
      { avg_frame_rate: '0/0', r_frame_rate: '30000/1001' },
      { averageRate: { num: 30_000, den: 1001 } },
    ],
    ['no rate at all', { avg_frame_rate: '0/0' }, { averageRate: null }],
    ['a late start', { start_time: '0.500000' }, { startSec: 0.5, endSec: 10.5 }],
    [
      'Matroska keeps the end in a tag',
      { duration: undefined, tags: { DURATION: '00:01:02.500000000' } },
      { endSec: 62.5 },
    ],
    ['no end', { duration: undefined }, { endSec: null }],
  ])('%s', (_, more, expected) => {
    expect(readVideo(more)).toMatchObject(expected);
  });

  it('takes times against the start of the file', () => {
    const {
      video: read1,
      audio: [track],
    } = read(
      [
        { ...video, start_time: '5.5' },
        { ...audio, start_time: '5.0' },
      ],
      { start_time: '5.0' },
    );
    expect([read1.startSec, read1.endSec, track?.endSec]).toEqual([0.5, 10.5, 10.01]);
  });

  it('takes the video stream that is marked as default, and no attached picture', () => {
    const cover = { ...video, index: 0, codec_name: 'mjpeg', disposition: { attached_pic: 1, default: 1 } };
    const other = { ...video, index: 1, disposition: { default: 0 } };
    expect(read([cover, other, { ...video, index: 2 }]).video.streamIndex).toBe(2);
    expect(() => read([cover, audio])).toThrow(expect.objectContaining({ code: 'no_video_stream' }));
    expect(() => read([audio])).toThrow(expect.objectContaining({ code: 'no_video_stream' }));
  });

  it('refuses bombs before anything is decoded', () => {
    expect(() => readVideo({ width: 16_000, height: 16_000 })).toThrow(
      expect.objectContaining({ code: 'limit_exceeded' }),
    );
    expect(() => readVideo({ width: 20_000, height: 2 })).toThrow(expect.objectContaining({ code: 'limit_exceeded' }));
    const streams = Array.from({ length: 65 }, (_, index) => ({ ...audio, index }));
    expect(() => read([video, ...streams])).toThrow(expect.objectContaining({ code: 'limit_exceeded' }));
  });

  it('refuses a codec that nothing here knows', () => {
    expect(() => readVideo({ codec_name: undefined })).toThrow(expect.objectContaining({ code: 'unsupported_media' }));
  });

  it('leaves out audio that cannot be decoded, and subtitles, and says so', () => {
    const { audio: tracks, warnings } = read([
      video,
      { ...audio, codec_name: 'none' },
      { index: 2, codec_type: 'subtitle' },
    ]);
    expect(tracks).toEqual([]);
    expect(warnings.map(({ code }) => code)).toEqual(['audio_track_skipped', 'subtitles_left_out']);
  });

  it('tells what an audio track is for, and its name when somebody gave one', () => {
    const { audio: tracks } = read([
      video,
      { ...audio, tags: { title: 'Director' }, disposition: { comment: 1 } },
      {
        ...audio,
        disposition: { visual_impaired: 1 },
        tags: { handler_name: 'Für Blinde' },
        channel_layout: undefined,
        channels: 4,
      },
    ]);
    expect(tracks.map(({ role, title, channelLayout }) => [role, title, channelLayout])).toEqual([
      ['commentary', 'Director', 'stereo'],
      ['description', 'Für Blinde', null],
    ]);
  });
});
