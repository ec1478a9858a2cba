import { describe, expect, it } from 'vitest';
import { around, describeDocuments, many } from '../../testing/document-cases.ts';
import { pngHeader } from '../../testing/png-header.ts';
import { defaultEncoding } from './encoding-profile.ts';
import {
  builtInMediaProfiles,
  documentSchema,
  expiresAfterMs,
  namedProfileSchema,
  sourceMatchSchema,
} from './profiles.ts';

// Every field of a profile with its bounds; docs/reference/media.md has what each does.

const rung = { short_side: 360, bitrate: 730_000 };
const largestPng = pngHeader(2048, 2048, 48 * 1024);
const broken = (at: number) => {
  const bytes = Buffer.from(pngHeader(64, 32), 'base64');
  bytes.writeUInt8(0, at);
  return bytes.toString('base64');
};
const valid = {
  name: 'a'.repeat(63),
  ladder: [
    rung,
    { codec: 'hevc', short_side: 64, bitrate: 100_000 },
    { codec: 'hevc', short_side: 2160, bitrate: 1e8 },
  ],
  first_bitrate: 100_000_000,
  crf: 40,
  preset: 'slow',
  hevc: { crf: 45, preset: 'fast' },
  av1: { crf: 60, preset: 13 },
  hdr: 'map',
  quality: { vmaf: 99 },
  frame_rate_max: 120,
  storyboard: 'never',
  captions: 'clear',
  audio_only: 'refuse',
  watermark: { png: largestPng, position: 'top-left', width: 1, margin: 0.4, opacity: 0.01 },
  expires_after: '99999d',
  audio: { bitrate: 320_000, tracks_max: 8, loudness: -31, surround: true },
};

describeDocuments({
  'a profile': {
    read: (json) => namedProfileSchema.parse(JSON.parse(json)),
    valid,
    faults: [
      ...around('name', 'A'),
      ['name', 'a'.repeat(64)],
      ['ladder', []],
      ['ladder', many(17, rung)],
      ['ladder.0.short_side', 62],
      ['ladder.0.bitrate', 99_999],
      // It is not above the one below it.
      ['ladder.2.bitrate', 100_000],
      ['ladder.0.codec', 'vp9'],
      ['first_bitrate', 99_999],
      ['crf', 9.9],
      ['preset', 'other'],
      ['hevc.crf', 9],
      ['av1.crf', 9],
      ['av1.preset', -1],
      ['hdr', 'other'],
      ['quality', {}],
      ['quality', { vmaf: 90, ssim: 0.95 }],
      ['quality.vmaf', 59],
      ['quality', { ssim: 0.89 }],
      ['frame_rate_max', 0],
      ['storyboard', 'other'],
      ['watermark.png', pngHeader(2049, 1)],
      ['watermark.png', pngHeader(0, 1)],
      ['watermark.png', pngHeader(64, 32, 48 * 1024 + 1)],
      ['watermark.png', `!${pngHeader(64, 32)}`],
      ['watermark.png', `${pngHeader(64, 32)}!`],
      ['watermark.png', broken(1)],
      ['watermark.png', Buffer.from(pngHeader(64, 32), 'base64').subarray(0, 23).toString('base64')],
      ['watermark.position', 'middle'],
      ['watermark.width', 0.009],
      ['watermark.margin', -0.01],
      ['watermark.opacity', 0],
      ...around('expires_after', '30d'),
      ['expires_after', '0d'],
      ['audio.bitrate', 31_999],
      ['audio.tracks_max', 0],
      ['audio.loudness', -31.1],
      ['more', 1],
    ],
  },
  'a profile of which nothing is said': {
    read: (json) => documentSchema.parse(JSON.parse(json)),
    valid: { hevc: {}, av1: {}, watermark: { png: pngHeader(64, 32) } },
    gives: {
      ladder: [
        { short_side: 360, bitrate: 730_000 },
        { short_side: 540, bitrate: 2_000_000 },
        { short_side: 720, bitrate: 4_500_000 },
        { short_side: 1080, bitrate: 7_800_000 },
      ],
      first_bitrate: 2_000_000,
      crf: 23,
      preset: 'medium',
      hevc: { crf: 25, preset: 'medium' },
      av1: { crf: 32, preset: 8 },
      frame_rate_max: 60,
      storyboard: 'clear',
      watermark: { png: pngHeader(64, 32), position: 'bottom-right', width: 0.15, margin: 0.03, opacity: 1 },
      audio: { bitrate: 128_000, tracks_max: 8 },
    },
    faults: [],
  },
  'which sources get a profile': {
    read: (json) => sourceMatchSchema.parse(JSON.parse(json)),
    valid: { source_prefix: 'p'.repeat(1024), source_bytes_min: 0, source_bytes_max: 1 },
    faults: [
      ['source_prefix', ''],
      ['source_prefix', 'p'.repeat(1025)],
      ['source_bytes_min', -1],
      ['source_bytes_max', 0],
      ['more', 1],
    ],
  },
});

it.each([
  [undefined, null],
  ['1h', 3_600_000],
  ['30d', 30 * 86_400_000],
])('what expires after %s has %s ms', (after, ms) => {
  expect(expiresAfterMs(after === undefined ? {} : { expires_after: after })).toBe(ms);
});

const sides = (name: string) => builtInMediaProfiles.byName.get(name)?.ladder.map((each) => each.short_side);

describe('the built-in profiles', () => {
  it('have these ladders, and what they are for', () => {
    const { byName } = builtInMediaProfiles;
    expect([...byName.keys()]).toEqual(['default', 'mobile', 'archive-4k', 'hdr', 'audio']);
    expect(defaultEncoding.rungs).toHaveLength(4);
    expect(byName.get('mobile')).toMatchObject({ first_bitrate: 600_000, crf: 26, audio: { bitrate: 96_000 } });
    expect(sides('mobile')).toEqual([240, 360, 480, 720]);
    expect(byName.get('archive-4k')).toMatchObject({ crf: 20, preset: 'slow', audio: { bitrate: 192_000 } });
    expect(sides('archive-4k')).toEqual([360, 540, 720, 1080, 1440, 2160]);
    for (const [name, profile] of byName) expect([name, profile.name]).toEqual([name, name]);
    expect(byName.get('hdr')).toMatchObject({ hdr: 'keep', audio: { surround: true } });
    expect(byName.get('audio')).toMatchObject({ audio_only: 'stream', audio: { bitrate: 160_000 } });
    expect(sides('hdr')).toEqual([360, 540, 720, 1080, 540, 720, 1080, 2160]);
  });
});
