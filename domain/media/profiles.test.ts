import { describe, expect, it } from 'vitest';
import { explain, faultsOf } from '../jobs/faults.ts';
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
