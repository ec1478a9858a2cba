import { describe, expect, it } from 'vitest';
import { parseFfprobe } from './ffprobe-document.ts';
import { readStreams } from './streams.ts';

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
  readStreams(parseFfprobe(JSON.stringify({ streams, format: { ...format, ...more } })));

describe('the streams of a source', () => {
  it('the audio of another program of a broadcast is not heard with a video', () => {
    const others = [
      { ...video, index: 2 },
      { ...audio, index: 3 },
      { ...audio, index: 4 },
    ];
    const programs = [
      [2, 3],
      [0, 1],
    ].map((indexes) => ({ streams: indexes.map((index) => ({ index })) }));
    const document = { streams: [video, audio, ...others], programs, format };
    const found = readStreams(parseFfprobe(JSON.stringify(document)));
    expect([found.video?.index, found.audio.map(({ streamIndex }) => streamIndex)]).toEqual([0, [1, 4]]);
  });

  it('a source is read with its container, length, video stream and audio streams', () => {
    expect(read([video, audio])).toEqual({
      container: 'mov',
      startSec: 0,
      durationSec: 10.01,
      video: expect.objectContaining({ index: 0, codec_name: 'h264' }),
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
      subtitles: [],
      chapters: [],
      warnings: [],
    });
  });

  it('the length of an FLV file is counted from its start', () => {
    const flv = { format_name: 'flv', start_time: '2.0', duration: '13.0' };
    expect(read([video], flv).durationSec).toBe(11);
    expect(read([video], { ...flv, format_name: 'avi' }).durationSec).toBe(13);
  });

  it('times of audio streams are counted from the start of the file', () => {
    const {
      startSec,
      audio: [track],
    } = read([video, { ...audio, start_time: '5.0' }], { start_time: '5.0' });
    expect([startSec, track?.endSec]).toEqual([5, 10.01]);
  });

  it('the video stream is the one that is marked as default, and never an attached picture', () => {
    const cover = { ...video, index: 0, codec_name: 'mjpeg', disposition: { attached_pic: 1, default: 1 } };
    const other = { ...video, index: 1, disposition: { default: 0 } };
    expect(read([cover, other, { ...video, index: 2 }]).video?.index).toBe(2);
    expect(read([cover, audio]).video).toBeNull();
  });

  it('a source with more than 64 streams exceeds a limit', () => {
    const streams = Array.from({ length: 65 }, (_, index) => ({ ...audio, index }));
    expect(() => read([video, ...streams])).toThrow(expect.objectContaining({ code: 'limit_exceeded' }));
  });

  it('audio streams that cannot be decoded and subtitles are left out with a warning', () => {
    const { audio: tracks, warnings } = read([
      video,
      { ...audio, codec_name: 'none' },
      { ...audio, codec_tag_string: 'enca' },
      { index: 2, codec_type: 'subtitle', codec_name: 'hdmv_pgs_subtitle', tags: { language: 'ger' } },
    ]);
    expect(tracks).toEqual([]);
    expect(warnings.map(({ code }) => code)).toEqual([
      'audio_track_skipped',
      'audio_track_skipped',
      'subtitles_left_out',
    ]);
  });

  it('C14.16: text subtitles are used; others are named in a warning', () => {
    const text = { index: 3, codec_type: 'subtitle', codec_name: 'subrip', disposition: { forced: 1 } };
    const { subtitles, warnings } = read([
      video,
      { index: 2, codec_type: 'subtitle', codec_name: 'hdmv_pgs_subtitle', tags: { language: 'ger' } },
      { ...text, tags: { language: 'eng' } },
      { index: 4, codec_type: 'subtitle', codec_name: 'eia_608' },
    ]);
    expect(subtitles).toMatchObject([
      { streamIndex: 3, language: 'eng', isCea608: false, isForced: true, isHearingImpaired: false },
      { streamIndex: 4, language: undefined, isCea608: true, isForced: false, isHearingImpaired: true },
    ]);
    expect(warnings).toEqual([
      {
        code: 'subtitles_left_out',
        message: 'Subtitles that are images or of an unknown kind were left out: stream 2 (hdmv_pgs_subtitle, de).',
      },
    ]);
  });

  it('an audio stream has the role of its disposition, and the title or handler name that someone gave it', () => {
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
      ['description', 'Für Blinde', '4.0'],
    ]);
  });

  it.each([
    [1, null],
    [2, null],
    [3, '2.1'],
    [6, '5.1'],
    [8, '7.1'],
    [9, null],
  ])('%i channels without a layout are taken for %s', (channels, layout) => {
    const unstated = { ...audio, channels, channel_layout: 'unknown' };
    expect(read([video, unstated]).audio.map(({ channelLayout }) => channelLayout)).toEqual([layout]);
  });

  it.each([
    ['of an unknown codec', { codec_name: 'unknown' }],
    ['without a codec', { codec_name: undefined }],
    ['without channels', { channels: 0 }],
    ['without a sample rate', { sample_rate: undefined }],
    ['with a sample rate of zero', { sample_rate: '0' }],
  ])('an audio stream %s is left out', (_, more) => {
    const { audio: tracks, warnings } = read([video, { ...audio, ...more }]);
    expect([tracks, warnings.map(({ code }) => code)]).toEqual([[], ['audio_track_skipped']]);
  });

  it('languages, dubs and captions are read as containers write them', () => {
    const { audio: tracks, subtitles } = read([
      video,
      { ...audio, tags: { LANGUAGE: 'ger' }, disposition: { dub: 1 } },
      { index: 2, codec_type: 'subtitle', codec_name: 'ass', tags: { LANGUAGE: 'fre' }, disposition: { captions: 1 } },
      { index: 3, codec_type: 'subtitle', codec_name: 'webvtt', disposition: { hearing_impaired: 1 } },
    ]);
    expect(tracks.map(({ language, role }) => [language, role])).toEqual([['ger', 'dub']]);
    expect(subtitles.map(({ language, isHearingImpaired }) => [language, isHearingImpaired])).toEqual([
      ['fre', true],
      [undefined, true],
    ]);
  });

  it('a broadcast begins with its first video or audio, and other containers where they say', () => {
    const data = { index: 2, codec_type: 'data', start_time: '1.0' };
    const streams = [{ ...video, start_time: '9.5' }, { ...audio, start_time: '9.0' }, data];
    expect(read(streams, { format_name: 'mpegts', start_time: '1.0' }).startSec).toBe(9);
    expect(read([data], { format_name: 'mpegts', start_time: '1.0' }).startSec).toBe(1);
    expect(read(streams, { start_time: '1.0' }).startSec).toBe(1);
  });
});
