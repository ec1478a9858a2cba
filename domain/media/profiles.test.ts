import { describe, expect, it } from 'vitest';
import { explain, faultsOf } from '../jobs/faults.ts';
import { encodingProfileOf } from './encoding-profile.ts';
import {
  builtInMediaProfiles,
  chooseProfile,
  mediaProfilesSchema,
  type NamedProfile,
  profileDigest,
} from './profiles.ts';

const builtIn = (name: string) => builtInMediaProfiles.byName.get(name) as NamedProfile;

describe('profiles', () => {
  it('what a profile leaves out is as in the built-in default', () => {
    const { byName } = mediaProfilesSchema.parse({ profiles: { quick: { preset: 'veryfast' } } });
    expect(byName.get('quick')).toEqual({ ...builtIn('default'), name: 'quick', preset: 'veryfast' });
  });

  it('a profile replaces a built-in one of its name', () => {
    const { byName } = mediaProfilesSchema.parse({ profiles: { mobile: { crf: 30 } } });
    expect(byName.get('mobile')?.crf).toBe(30);
    expect([...byName.keys()]).toEqual(['default', 'mobile', 'archive-4k', 'hdr', 'audio']);
  });

  it('the profile archive-4k has rungs up to 2160 lines', () => {
    expect(encodingProfileOf(builtIn('archive-4k')).rungs.at(-1)).toEqual({
      codec: 'h264',
      shortSide: 2160,
      bitrateMax: 25_000_000,
    });
  });

  it('only the profile audio streams audio without video', () => {
    const streaming = [...builtInMediaProfiles.byName.values()].filter(
      (profile) => encodingProfileOf(profile).streamsAudioOnly,
    );
    expect(streaming.map(({ name }) => name)).toEqual(['audio']);
  });

  it('every fault of the document is reported at once, each with its place', () => {
    const document = {
      profiles: {
        a: {
          ladder: [
            { short_side: 720, bitrate: 2e6 },
            { short_side: 360, bitrate: 3e6 },
          ],
          crf: 99,
        },
        b: {
          codec: 'hevc',
          quality: { vmaf: 93, ssim: 1 },
          av1: { crf: 70, preset: 'slow' },
          hdr: 'keep',
          watermark: {},
        },
        c: {
          ladder: [
            { short_side: 720, bitrate: 2e6 },
            { short_side: 360, bitrate: 1e6, codec: 'hevc' },
            { short_side: 360, bitrate: 2e6, codec: 'hevc' },
          ],
          quality: {},
        },
      },
      rules: [{ profile: 'B' }, { profile: 'd' }, { profile: 'a', source_bytes_min: 2, source_bytes_max: 1, size: 1 }],
    };
    const { error } = mediaProfilesSchema.safeParse(document, { error: explain });
    expect(error && faultsOf(error).map(({ pointer }) => pointer)).toEqual([
      '/profiles/a/ladder',
      '/profiles/a/crf',
      '/profiles/b/av1/crf',
      '/profiles/b/av1/preset',
      '/profiles/b/quality/ssim',
      '/profiles/b/quality',
      '/profiles/b/watermark/png',
      '/profiles/b/codec',
      '/profiles/b/watermark',
      '/profiles/c/ladder',
      '/profiles/c/quality',
      '/rules/0/profile',
      '/rules/2/size',
      '/rules/2/source_bytes_max',
      '/rules/1/profile',
    ]);
  });

  it('a rule that names no profile is refused', () => {
    const { error } = mediaProfilesSchema.safeParse({ rules: [{ profile: 'other' }] });
    const message = 'is no profile; known are default, mobile, archive-4k, hdr, audio';
    expect(error?.issues).toEqual([{ code: 'custom', path: ['rules', 0, 'profile'], message }]);
  });

  it.each([
    [
      { profiles: { a: null, b: undefined }, rules: [null, undefined] },
      ['/profiles/a', '/profiles/b', '/rules/0', '/rules/1'],
    ],
    [{ profiles: null, rules: 7 }, ['/profiles', '/rules']],
  ])('what is no object in %j is a fault', (document, places) => {
    const { error } = mediaProfilesSchema.safeParse(document);
    expect(error && faultsOf(error).map(({ pointer }) => pointer)).toEqual(places);
  });

  it.each([
    [{ quality: {} }, 'has one of `vmaf`, `ssim` and `report: true`'],
    [{ expires_after: '30m' }, 'must be a number of days or hours, such as 30d or 12h'],
  ])('the fault of %j says what is expected: %s', (profile, message) => {
    const { error } = mediaProfilesSchema.safeParse({ profiles: { profile } });
    expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
  });

  it('the built-in profiles have no rules', () => {
    expect(builtInMediaProfiles.rules).toEqual([]);
  });
});

describe('the choice of a profile', () => {
  const profiles = mediaProfilesSchema.parse({
    rules: [
      { source_prefix: 'phone/', source_bytes_max: 100, profile: 'mobile' },
      { source_bytes_min: 1000, profile: 'archive-4k' },
    ],
  });

  it.each([
    ['phone/a.mp4', 100, 'mobile'],
    ['phone/a.mp4', 101, 'default'],
    ['phone/a.mp4', 1000, 'archive-4k'],
    ['other/phone/a.mp4', 50, 'default'],
    ['phone/a.mp4', null, 'default'],
  ])('%s of %s bytes gets %3$s', (key, sizeBytes, name) => {
    expect(chooseProfile(profiles, { key, sizeBytes }).name).toBe(name);
  });
});

it('a rule may be about one size', () => {
  const ofSeven = mediaProfilesSchema.parse({ rules: [{ source_bytes_min: 7, source_bytes_max: 7, profile: 'hdr' }] });
  const chosen = [6, 7, 8].map((sizeBytes) => chooseProfile(ofSeven, { key: 'a.mp4', sizeBytes }).name);
  expect(chosen).toEqual(['default', 'hdr', 'default']);
});

describe('the digest of a profile', () => {
  it('the digest of a profile is null for whatever equals the built-in default, by any name', () => {
    expect(profileDigest(builtIn('default'))).toBeNull();
    expect(profileDigest({ ...builtIn('default'), name: 'mine' })).toBeNull();
  });

  it('the digest of a profile depends on what the profile says and not on its name', () => {
    const mobile = builtIn('mobile');
    expect(profileDigest(mobile)).toBe(profileDigest({ ...mobile, name: 'mine' }));
    expect(profileDigest(mobile)).not.toBe(profileDigest({ ...mobile, crf: 25 }));
    expect(profileDigest(mobile)).not.toBe(profileDigest({ ...mobile, quality: { vmaf: 93 } }));
  });
});
