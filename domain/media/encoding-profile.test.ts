import { expect, it } from 'vitest';
import { defaultEncoding, encodingProfileOf } from './encoding-profile.ts';
import { defaultDocument } from './profiles.ts';

const of = (changes: object) => encodingProfileOf({ ...defaultDocument, ...changes });

it('the built-in profile is what docs/reference/media.md says', () => {
  expect(defaultEncoding).toEqual({
    rungs: [
      { codec: 'h264', shortSide: 360, bitrateMax: 730_000 },
      { codec: 'h264', shortSide: 540, bitrateMax: 2_000_000 },
      { codec: 'h264', shortSide: 720, bitrateMax: 4_500_000 },
      { codec: 'h264', shortSide: 1080, bitrateMax: 7_800_000 },
    ],
    firstBitrate: 2_000_000,
    crf: defaultDocument.crf,
    preset: 'medium',
    hevc: { crf: 25, preset: 'medium' },
    av1: { crf: 32, preset: 8 },
    keepsHdr: false,
    quality: null,
    frameRateMax: 60,
    storyboard: 'clear',
    captions: 'always',
    watermark: null,
    streamsAudioOnly: false,
    gopSec: 2,
    gopsPerSegment: 3,
    audio: { bitrate: 128_000, sampleRate: 48_000, tracksMax: 8, loudnessLufs: null, hasSurround: false },
  });
});

it('a profile is read field by field', () => {
  const watermark = { text: 'x' };
  const hevc = { crf: 20, preset: 'slow' };
  expect(of({ hevc, av1: { crf: 30, preset: 6 }, captions: 'never', audio_only: 'stream' })).toMatchObject({
    hevc,
    av1: { crf: 30, preset: 6 },
    captions: 'never',
    streamsAudioOnly: true,
  });
  expect(of({ hdr: 'keep' }).keepsHdr).toBe(true);
  expect(of({ hdr: 'keep', watermark })).toMatchObject({ keepsHdr: false, watermark });
  expect(of({ audio: { bitrate: 1, tracks_max: 2, loudness: -16, surround: true } }).audio).toEqual({
    bitrate: 1,
    sampleRate: 48_000,
    tracksMax: 2,
    loudnessLufs: -16,
    hasSurround: true,
  });
});

it.each([
  [{ vmaf: 93 }, { target: { measure: 'vmaf', score: 93 } }],
  [{ ssim: 0.98 }, { target: { measure: 'ssim', score: 0.98 } }],
  [{ report: true }, { target: null }],
  [{ report: false }, null],
  [{}, null],
])('a quality of %j means %j', (quality, expected) => expect(of({ quality }).quality).toEqual(expected));
