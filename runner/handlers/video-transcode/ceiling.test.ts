import { describe, expect, it } from 'vitest';
import { type EncodingProfile, encodingProfileOf } from '#domain/media/encoding-profile.ts';
import { planLadder, type VideoRange } from '#domain/media/ladder.ts';
import { builtInMediaProfiles, defaultDocument, videoCodecs } from '#domain/media/profiles.ts';
import { ceilingWarnings } from './ceiling.ts';

const byName = (name: string) => encodingProfileOf(builtInMediaProfiles.byName.get(name) ?? defaultDocument);
const full = { width: 1080, height: 1920, sourceRate: { num: 60_000, den: 1001 }, hdr: 'none' };

interface Found extends Partial<Omit<typeof full, 'hdr'>> {
  readonly hdr?: Exclude<VideoRange, 'sdr'>;
}

function messages(found: Found, channels: number, profile: EncodingProfile): string[] {
  const video = { ...full, hdr: 'none' as const, ...found };
  const rungs = planLadder(video, profile, videoCodecs);
  const warnings = ceilingWarnings({ video, audio: [{ channels: 1 }, { channels }] }, rungs, profile);
  return warnings.map(({ code, message }) => `${code}: ${message}`);
}

const start = 'above_profile: The source has more than the profile makes of it:';
const large = { width: 3840, height: 2160, sourceRate: { num: 120, den: 1 }, hdr: 'hlg' } as const;

describe('what a source has above the ceiling of its profile', () => {
  it.each([
    ['nothing', {}, 2, 'default', []],
    [
      'all that default leaves out',
      large,
      8,
      'default',
      [
        `${start} 2160 pixels on the shorter side (at most 1080), 120 frames a second (at most 60), HDR (SDR alone), 8 audio channels (at most 2).`,
      ],
    ],
    ['what a profile with HDR and 5.1 keeps', { ...large, sourceRate: { num: 25, den: 1 } }, 6, 'hdr', []],
    [
      'a rate',
      {},
      2,
      'mobile',
      [`${start} 1080 pixels on the shorter side (at most 720), 59.94 frames a second (at most 30).`],
    ],
  ])('C14.8: a warning names %s', (_, found, channels, profile, expected) => {
    expect(messages(found as Found, channels, byName(profile))).toEqual(expected);
  });

  it('C14.8: a warning of audio alone names its channels alone', () => {
    const warnings = ceilingWarnings({ video: null, audio: [{ channels: 6 }] }, [], byName('audio'));
    expect(warnings.map(({ message }) => message)).toEqual([
      'The source has more than the profile makes of it: 6 audio channels (at most 2).',
    ]);
  });
});
