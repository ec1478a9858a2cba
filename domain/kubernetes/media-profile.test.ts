import { describe, expect, it } from 'vitest';
import { builtInMediaProfiles, profileDigest } from '../media/profiles.ts';
import { outlineOf, readMediaProfile } from './media-profile.ts';

const builtIn = (name: string) => builtInMediaProfiles.byName.get(name);

function entryOf(spec: object, name = 'lectures') {
  const read = readMediaProfile(name, { ...spec });
  if ('faults' in read) throw new Error(read.faults.join('; '));
  return read.entry;
}

describe('a MediaProfile', () => {
  it('a MediaProfile gives rules and a profile of its name, which is as in `default` where a field is left out', () => {
    expect(entryOf({ crf: 20, rules: [{ source_prefix: 'l/' }] })).toEqual({
      profile: { ...builtIn('default'), crf: 20, name: 'lectures' },
      rules: [{ source_prefix: 'l/', priority: 0 }],
    });
  });

  it('C26.10: every fault of a MediaProfile is reported at once, with the fields of the object', () => {
    const ladder = [
      { short_side: 720, bitrate: 2e6 },
      { short_side: 360, bitrate: 3e6 },
    ];
    const spec = {
      ladder,
      crf: 99,
      audio: { tracks_max: 0 },
      fps: 30,
      hdr: 'keep',
      watermark: {},
      rules: [{ priority: 5000, source_bytes_min: 9, source_bytes_max: 8 }],
    };
    expect(readMediaProfile('Lectures', spec)).toEqual({
      faults: expect.arrayContaining([
        'spec.ladder: must go from small to large in each codec, by `short_side` and by `bitrate`',
        'spec.crf: must be at most 40',
        'spec.audio.tracks_max: must be at least 1',
        'spec.watermark: cannot be laid over HDR: leave out `hdr: keep`',
        'spec.rules.0.priority: must be at most 1000',
        'spec.rules.0.source_bytes_max: must be at least `source_bytes_min`',
        expect.stringMatching(/^spec\.fps: is not a known field/),
        expect.stringMatching(/^metadata\.name: /),
      ]) as unknown,
    });
  });

  it('a MediaProfile without rules has none, and one whose name alone is at fault is refused', () => {
    expect(entryOf({ crf: 20 }).rules).toEqual([]);
    const read = readMediaProfile('Lectures', { crf: 20 });
    if (!('faults' in read)) throw new Error('it has a fault');
    expect(read.faults).toEqual([expect.stringMatching(/^metadata\.name: /)]);
  });

  it('a MediaProfile shows its rungs, its codecs and the digest that decides which submissions are equal', () => {
    const { ladder, hdr, audio } = builtIn('hdr') ?? {};
    const { profile } = entryOf({ ladder, hdr, audio }, 'mine');
    expect(outlineOf(profile)).toEqual({ digest: profileDigest(profile), rungs: 8, codecs: 'h264,hevc' });
    const changed = outlineOf({ ...profile, crf: 24 }).digest;
    expect(changed).toMatch(/^[0-9a-f]{64}$/);
    expect([outlineOf(profile).digest, changed]).toEqual([outlineOf({ ...profile, name: 'other' }).digest, changed]);
    expect(changed).not.toBe(outlineOf(profile).digest);
  });
});
