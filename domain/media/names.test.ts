import { afterEach, describe, expect, it, vi } from 'vitest';
import { cueTime } from './cue-time.ts';
import { displaySizeOf } from './frame-size.ts';
import { languageName, languageTag } from './languages.ts';
import { rational, showRational, valueOf } from './rational.ts';
import { isTrackName, trackName, trackNameMax, uniqueNames } from './track-names.ts';
import { audioTrackIds, videoTrackId } from './tracks.ts';

// How languages, tracks, times and sizes are written.

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a language', () => {
  it.each([
    ['eng', 'en'],
    ['ger', 'de'],
    ['pt_br', 'pt-BR'],
    ['zh-Hans-CN', 'zh-Hans-CN'],
    ['und', null],
    ['mul', null],
    ['zxx', null],
    ['und-Latn', null],
    ['e', null],
    ['-en', null],
    ['de"x', null],
    ['en-'.padEnd(36, 'a'), null],
    [`en-x-${'abcdefgh-'.repeat(3)}abc`, 'en-x-abcdefgh-abcdefgh-abcdefgh-abc'],
    [`en-x-${'abcdefgh-'.repeat(3)}abcd`, null],
    // The text and its tag have at most 35 characters each; the tag may be the shorter or the longer one.
    ['en-u-kb-true-kc-true-kh-true-kk', 'en-u-kb-kc-kh-kk'],
    [`sh-x-${'abcdefgh-'.repeat(3)}abc`, null],
    ['', null],
    [undefined, null],
  ])('%s is the tag %s', (named, tag) => expect(languageTag(named)).toBe(tag));

  it.each([
    ['de', 'German'],
    ['qaa', 'qaa'],
    ['de-x-formal', 'German'],
    ['en-US-u-ca-buddhist', 'American English'],
  ])('%s is called %s', (tag, name) => expect(languageName(tag)).toBe(name));
});

describe('the name of a track', () => {
  it.each([
    ['Director', 'en', 'Director'],
    [' a "quoted"" title ', null, 'a  quoted  title'],
    ['""', 'de', 'German'],
    ['', 'de', 'German'],
    [undefined, 'de', 'German'],
    [undefined, null, 'Track 1'],
    ['"'.repeat(300), null, 'Track 1'],
    ['x'.repeat(100), null, 'x'.repeat(60)],
  ])('of the title %j and the language %s is %j', (title, language, name) => {
    expect(trackName(title, language, 'Track 1')).toBe(name);
    expect(isTrackName(name)).toBe(true);
  });

  it('is a clean title of a bounded length', () => {
    expect(['', 'a"b', ' a', 'a\n', 'x'.repeat(trackNameMax + 1)].map((name) => isTrackName(name))).toEqual(
      Array.from({ length: 5 }, () => false),
    );
    expect(isTrackName('x'.repeat(trackNameMax))).toBe(true);
  });

  it('is followed by a number where another one has it', () => {
    expect(uniqueNames(['a', 'b', 'a', 'a 2', 'a'])).toEqual(['a', 'b', 'a 2', 'a 2 2', 'a 3']);
  });
});

it('ids of tracks name height, language, codec and channels, and are unique', () => {
  const track = { language: 'en', codec: 'aac', channels: 2 };
  expect(videoTrackId(720, 'h264')).toBe('r720_h264');
  expect(audioTrackIds([track, { ...track, channels: 6 }, track, track])).toEqual([
    'audio_en_aac_2ch',
    'audio_en_aac_6ch',
    'audio_en_aac_2ch_2',
    'audio_en_aac_2ch_3',
  ]);
});

it.each([
  [0, '00:00:00.000'],
  [3661.0014, '01:01:01.001'],
  [59.9996, '00:01:00.000'],
])('%d seconds are the cue time %s', (sec, written) => expect(cueTime(sec)).toBe(written));

it('ratios are in lowest terms', () => {
  expect([rational(60_000, 2002), rational(50, 2)].map(showRational)).toEqual(['30000/1001', '25']);
  expect(valueOf({ num: 1, den: 4 })).toBe(0.25);
});

describe('a size', () => {
  const coded = { width: 720, height: 576, sampleAspect: 1, rotation: 0 };
  it.each([
    [{}, 720, 576],
    [{ rotation: 90 }, 576, 720],
    [{ sampleAspect: 64 / 45 }, 1024, 576],
    [{ sampleAspect: 2, rotation: 90 }, 576, 1440],
    // Further from square than anything is.
    [{ sampleAspect: 10 }, 720, 576],
    [{ sampleAspect: 0 }, 720, 576],
    // At most 36 megapixels and 16,384 pixels on a side.
    [{ width: 100, height: 8000, sampleAspect: 1 / 9 }, 23, 16_384],
    [{ width: 4000, height: 9000, sampleAspect: 4 }, 8000, 4500],
    [{ width: 16_384, height: 1000, sampleAspect: 2, rotation: 90 }, 500, 16_384],
  ])('of a frame with %j is %d × %d', (changes, width, height) => {
    expect(displaySizeOf({ ...coded, ...changes })).toEqual({ width, height });
  });
});
