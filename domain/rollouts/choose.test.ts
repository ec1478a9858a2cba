import { describe, expect, it } from 'vitest';
import { chooseMedia, type FoundMedia, isOfCanary } from './choose.ts';
import { rolloutRequestSchema } from './rollout.ts';

const stream = {
  jobId: 'j',
  rev: 'r',
  profile: 'default',
  madeAt: new Date('2026-05-01'),
  toolVersion: '1.4.0',
  isByTarget: false,
  bytes: 1_000,
  sourceMs: 60_000,
  processorMs: 90_000,
};
const found: FoundMedia = { hash: 'h', legalHold: false, isDeleted: false, stream };

function choice(media: Partial<FoundMedia>, which: object = {}) {
  return chooseMedia({ ...found, ...media }, rolloutRequestSchema.parse({ to_profile: 'small', which }));
}

describe('the choice of media', () => {
  it('a stream by another profile is an item; held, deleted and absent ones are skipped with a reason', () => {
    expect(choice({})).toBe('item');
    expect(choice({ legalHold: true })).toBe('legal_hold');
    expect(choice({ isDeleted: true, legalHold: true })).toBe('deleted');
    expect(choice({ stream: null })).toBe('no_stream');
  });

  it('a version chooses what it made, and nothing whose version is not known', () => {
    expect(choice({}, { tool_version: '1.4.0' })).toBe('item');
    expect(choice({}, { tool_version: '1.4.1' })).toBeNull();
    const unknown = { stream: { ...stream, toolVersion: null } };
    expect(choice(unknown, { tool_version: '1.4.0' })).toBeNull();
  });

  it('what the profile made is chosen by time or version alone', () => {
    const made = { stream: { ...stream, isByTarget: true } };
    expect(choice(made)).toBe('made_by_profile');
    expect(choice(made, { made_before: '2026-06-01T00:00:00Z' })).toBe('item');
    expect(choice(made, { tool_version: '1.4.0' })).toBe('item');
    expect(choice(made, { profile: 'default' })).toBe('made_by_profile');
  });

  it('a canary is the same share of any hashes, whoever looks', () => {
    const hashes = Array.from({ length: 10_000 }, (_, index) => `movie-${index}`);
    const canary = hashes.filter((hash) => isOfCanary('a', hash, 0.1));
    expect(canary.length).toBeGreaterThan(850);
    expect(canary.length).toBeLessThan(1150);
    expect(hashes.filter((hash) => isOfCanary('a', hash, 0.1))).toEqual(canary);
    expect(hashes.filter((hash) => isOfCanary('b', hash, 0.1))).not.toEqual(canary);
    expect(hashes.every((hash) => isOfCanary('a', hash, 1))).toBe(true);
  });
});
