import { describe, expect, it } from 'vitest';
import { parseFfprobe } from './ffprobe-document.ts';
import { readStreams } from './streams.ts';
import { readVideoStream } from './video-stream.ts';

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
const format = { format_name: 'mov,mp4,m4a,3gp,3g2,mj2', start_time: '0.000000', duration: '10.010000' };

const read = (streams: object[], more: object = {}) =>
  readVideoStream(readStreams(parseFfprobe(JSON.stringify({ streams, format: { ...format, ...more } }))));
const readVideo = (more: object) => read([{ ...video, ...more }]);

describe('the video stream of a source', () => {
  it('a video stream is read with its codec, size, rate, colour and times', () => {
    expect(readVideo({})).toEqual({
      streamIndex: 0,
      codec: 'h264',
      width: 1920,
      height: 1080,
      averageRate: { num: 25, den: 1 },
      rotation: 0,
      isMirrored: false,
      isUpright: true,
      stored: { width: 1920, height: 1080, sampleAspect: 1 },
      hdr: 'none',
      pixelFormat: 'yuv420p',
      isFlaggedInterlaced: false,
      isFullRange: false,
      matrix: 'bt709',
      widePrimaries: null,
      refusedMatrix: null,
      decoder: null,
      hasAlpha: false,
      startSec: 0,
      endSec: 10,
    });
  });

  it.each([
    [
      'a rotation in the display matrix, which is counterclockwise, is read clockwise',
      { side_data_list: [{ side_data_type: 'Display Matrix', rotation: -90 }] },
      { rotation: 90, width: 1080, height: 1920, isUpright: false },
    ],
    [
      'a display matrix that mirrors the frame is recognised',
      {
        side_data_list: [
          {
            side_data_type: 'Display Matrix',
            displaymatrix:
              '\n00000000:       -65536           0           0\n00000001:            0       65536           0\n00000002:  0 0 1073741824\n',
            rotation: -180,
          },
        ],
      },
      { isMirrored: true, isUpright: false },
    ],
    ['a rotation in a tag alone turns nothing', { tags: { rotate: '270' } }, { rotation: 0, width: 1920 }],
    [
      'wide pixels widen the frame',
      { width: 720, height: 576, sample_aspect_ratio: '64:45' },
      { width: 1024, height: 576, matrix: 'bt601', stored: { width: 720, height: 576, sampleAspect: 64 / 45 } },
    ],
    [
      'a PQ transfer is HDR',
      { color_transfer: 'smpte2084', pix_fmt: 'yuv420p10le', color_space: 'bt2020nc' },
      { hdr: 'pq', matrix: 'bt2020' },
    ],
    ['an HLG transfer is HDR', { color_transfer: 'arib-std-b67' }, { hdr: 'hlg' }],
    [
      'Dolby Vision profile 8 is read as its base layer',
      { color_transfer: 'smpte2084', side_data_list: [{ side_data_type: 'DOVI configuration record', dv_profile: 8 }] },
      { hdr: 'pq' },
    ],
    [
      'the compatibility of Dolby Vision stands in for a missing transfer',
      {
        side_data_list: [
          { side_data_type: 'DOVI configuration record', dv_profile: 8, dv_bl_signal_compatibility_id: 4 },
        ],
      },
      { hdr: 'hlg' },
    ],
    ['full range is read from the tag', { color_range: 'pc' }, { isFullRange: true }],
    [
      'a matrix that filters refuse counts as none',
      { color_space: 'ycgco' },
      { matrix: 'bt709', refusedMatrix: { bitstreamFilter: null } },
    ],
    [
      'a reserved matrix is removed before decoding',
      { color_space: 'reserved' },
      { matrix: 'bt709', refusedMatrix: { bitstreamFilter: 'h264_metadata=matrix_coefficients=2' } },
    ],
    ['Display P3 is read from the tag', { color_primaries: 'smpte432' }, { widePrimaries: 'smpte432' }],
    ['a pixel format with alpha may be transparent', { pix_fmt: 'yuva444p12le' }, { hasAlpha: true }],
    [
      'the fourth byte of uncompressed RGB is no alpha',
      { pix_fmt: 'bgra', codec_name: 'rawvideo' },
      { hasAlpha: false },
    ],
    ['a field order flags the video as interlaced', { field_order: 'tt' }, { isFlaggedInterlaced: true }],
    ['an untagged SD video is BT.601', { width: 640, height: 360 }, { matrix: 'bt601' }],
    [
      'the base rate stands in for a missing average rate',
      { avg_frame_rate: '0/0', r_frame_rate: '30000/1001' },
      { averageRate: { num: 30_000, den: 1001 } },
    ],
    [
      'the end of a Matroska stream is read from its tag',
      { duration: undefined, tags: { DURATION: '00:01:02.500000000' } },
      { endSec: 62.5 },
    ],
    ['without a length the end is unknown', { duration: undefined }, { endSec: null }],
  ])('%s', (_, more, expected) => {
    expect(readVideo(more)).toMatchObject(expected);
  });

  it('a source without a video stream is refused, also when it has an attached picture', () => {
    const audio = { index: 1, codec_type: 'audio', codec_name: 'aac', channels: 2, sample_rate: '48000' };
    const cover = { ...video, codec_name: 'mjpeg', disposition: { attached_pic: 1, default: 1 } };
    for (const streams of [[audio], [cover, audio]]) {
      expect(() => read(streams)).toThrow(expect.objectContaining({ code: 'no_video_stream' }));
    }
  });

  it('a video with too many pixels or too long a side is refused before anything is decoded', () => {
    for (const size of [
      { width: 16_000, height: 16_000 },
      { width: 20_000, height: 2 },
    ]) {
      expect(() => readVideo(size)).toThrow(expect.objectContaining({ code: 'limit_exceeded' }));
    }
  });

  it.each([
    ['an unknown codec', { codec_name: undefined }],
    ['Dolby Vision profile 5', { side_data_list: [{ side_data_type: 'DOVI configuration record', dv_profile: 5 }] }],
    ['an encrypted MP4 track', { codec_tag_string: 'encv' }],
    ['an encrypted WebM track', { tags: { enc_key_id: 'AAAA' } }],
  ])('%s is unsupported media', (_, more) => {
    expect(() => readVideo(more)).toThrow(expect.objectContaining({ code: 'unsupported_media' }));
  });
});
