import { describe, expect, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { assembleStream, tracksOf } from './assemble.ts';
import type { Encoded } from './encoded.ts';

const video = { id: 'r360_h264', codec: 'h264', range: 'sdr', width: 640, height: 360, bitrateMax: 730_000 } as const;
const encoded: Encoded = {
  video: [video],
  audio: [],
  text: [],
  frames: 200,
  grid: { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 100 },
  hasStoryboard: false,
  chapters: [],
  source: {} as Encoded['source'],
  warnings: [],
};

const head = '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI="init.mp4"\n';
const playlistOf = (count: number) =>
  `${head}${Array.from({ length: count }, (_, n) => `#EXTINF:4.000,\nseg_${n + 1}.m4s\n`).join('')}#EXT-X-ENDLIST\n`;
const folder = 'video/r360_h264';
const sizes = new Map([1, 2, 3].map((n) => [`${folder}/seg_${n}.m4s`, 100_000]));
const master = (codec: string) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="${codec}"\n${folder}/playlist.m3u8\n`;

function assembled(segments: number, codec = 'avc1.64001e') {
  const playlists = new Map([
    [`${folder}/playlist.m3u8`, playlistOf(segments)],
    [`${folder}/iframes.m3u8`, playlistOf(segments)],
  ]);
  const stream = {
    encoded,
    packaged: { playlists, sizes },
    packagerMaster: master(codec),
    dash: '<MPD></MPD>',
    storyboardBytes: 0,
  };
  return () => assembleStream(stream, { task: {}, reporter: {}, encryption: null } as never);
}

const problem = (message: string) => new KnownProblem('packager_error', message);

describe('what the packager wrote', () => {
  it.each([
    ['ends early', 1, '4.0 s of 8.0 s'],
    ['goes on too long', 3, '12.0 s of 8.0 s'],
  ])('is refused when it %s', (_, segments, lengths) => {
    expect(assembled(segments)).toThrow(problem(`The packager wrote a stream of the wrong length: ${lengths}.`));
  });

  it('is refused without the codec of a rung', () => {
    expect(assembled(2, 'unknown')).toThrow(problem('The packager did not name a codec.'));
  });
});

it('the role of captions in DASH is whom they are for', () => {
  const text = { id: 'text_en', language: 'en', name: 'English', isForced: false, isHearingImpaired: false };
  const roleOf = (more: object) => tracksOf({ video: [], audio: [], text: [{ ...text, ...more }] })[0]?.role;
  expect(roleOf({})).toBe('subtitle');
  expect(roleOf({ isHearingImpaired: true })).toBe('caption');
  expect(roleOf({ isForced: true })).toBe('forced-subtitle');
  expect(roleOf({ isForced: true, isHearingImpaired: true })).toBe('forced-subtitle');
});
