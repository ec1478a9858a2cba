import { describe, expect, it } from 'vitest';
import type { AudioPlan } from '#domain/media/audio-plan.ts';
import { gainFor, loudnessWarnings, parseLoudness } from './loudness.ts';

const summary = (integrated: string, peak: string) => `[Parsed_ebur128_0 @ 0x55] Summary:

  Integrated loudness:
    I:         ${integrated} LUFS
    Threshold: -33.0 LUFS

  Loudness range:
    LRA:         5.2 LU
    Threshold: -43.0 LUFS
    LRA low:   -26.1 LUFS
    LRA high:  -20.9 LUFS

  True peak:
    Peak:       ${peak} dBFS
`;

const named = (index: number, integrated: string) =>
  summary(integrated, '-1.5').replace('Parsed_ebur128_0', `ebur128@track${index}`);

describe('the loudness of a track', () => {
  it.each([
    [
      'is read from the summary',
      summary('-23.0', '-1.5'),
      { integrated_lufs: -23, range_lu: 5.2, true_peak_dbtp: -1.5 },
    ],
    ['is null for silence', summary('-70.0', '-inf'), null],
    ['is null without a summary', 'Conversion failed!', null],
  ])('the loudness of a track %s', (_, log, expected) => {
    expect(parseLoudness(log)).toEqual(expected);
  });

  it('the loudness of one of several tracks is found by the name of its filter', () => {
    const log = named(1, '-inf') + named(10, '-30.0') + named(1, '-20.0');
    expect([1, 10, 2].map((index) => parseLoudness(log, `ebur128@track${index}`)?.integrated_lufs)).toEqual([
      -20,
      -30,
      undefined,
    ]);
  });
});

const loudness = (integrated: number, peak: number) => ({
  integrated_lufs: integrated,
  range_lu: 5,
  true_peak_dbtp: peak,
});

describe('the gain of a track', () => {
  it.each([
    ['a quiet track is raised to the loudness of the profile', loudness(-26, -14), 10],
    ['a loud track is lowered to it', loudness(-9.5, 0.3), -6.5],
    ['peaks bound it', loudness(-26, -4), 2.5],
    ['a quiet track whose peaks are too high already is left as it is', loudness(-20, 0), 0],
    ['silence is left as it is', null, 0],
  ])('%s', (_, measured, gain) => {
    expect(gainFor(measured, -16)).toBe(gain);
  });

  it('a track that its peaks keep quieter has a warning', () => {
    const track = { id: 'audio_en_aac_2ch' } as AudioPlan;
    const tracks = [loudness(-16.4, -2), loudness(-19.5, -1.4), null].map((each) => ({ ...track, loudness: each }));
    const message = 'The track audio_en_aac_2ch has -19.5 LUFS and not -16: its peaks allow no more.';
    expect(loudnessWarnings(tracks, -16)).toEqual([{ code: 'loudness_limited', message }]);
    expect(loudnessWarnings(tracks, null)).toEqual([]);
  });
});
