import { describe, expect, it } from 'vitest';
import {
  type ApiKey,
  configuredKey,
  digestOfKey,
  isDigestOfOne,
  isNamedKey,
  keyIdOf,
  namedKeyOf,
  ownsHash,
  ownsSource,
  requireChoices,
  requireHash,
} from './api-key.ts';
import { includesRight, rights } from './rights.ts';

const owner: ApiKey = {
  id: '0123abcd',
  name: 'acme',
  rights: ['submit'],
  hashPrefix: 'acme-',
  sourcePrefix: 'acme/',
  profiles: ['mobile', 'default'],
  priorityMax: 0,
  weight: 1,
};
const admin = configuredKey(digestOfKey('secret'));

describe('rights', () => {
  it('a right includes itself alone, and admin every right', () => {
    for (const given of rights)
      expect(rights.filter((needed) => includesRight([given], needed))).toEqual(given === 'admin' ? rights : [given]);
    expect(rights.filter((needed) => includesRight([], needed))).toEqual([]);
  });
});

describe('named keys', () => {
  it('have 256 random bits, and a form that nothing shorter, longer or other has', () => {
    const key = namedKeyOf((bytes) => Buffer.alloc(bytes, 0xfb));
    expect(key).toBe(`rw_${Buffer.alloc(32, 0xfb).toString('base64url')}`);
    expect(isNamedKey(key)).toBe(true);
    for (const other of [key.slice(1), key.slice(0, -1), `${key}x`, key.replace('rw_', 'rv_'), `${key}\n`, '', 'rw_'])
      expect(isNamedKey(other), JSON.stringify(other)).toBe(false);
  });

  it('are named by the first 8 hex digits of their SHA-256', () => {
    expect(keyIdOf(digestOfKey('secret'))).toBe('2bb80d53');
  });

  it('the digest of any one of several secrets is found, and no other', () => {
    const digests = ['a', 'b'].map(digestOfKey);
    expect(isDigestOfOne(digests, digestOfKey('a'))).toBe(true);
    expect(isDigestOfOne(digests, digestOfKey('b'))).toBe(true);
    expect(isDigestOfOne(digests, digestOfKey('a,b'))).toBe(false);
    expect(isDigestOfOne([], digestOfKey(''))).toBe(false);
  });
});

describe('prefixes', () => {
  it('a key owns the hashes that begin with its prefix, letter by letter', () => {
    expect(['acme-1', 'acme-'].every((hash) => ownsHash(owner, hash))).toBe(true);
    expect(['acme', 'acme1', 'ACME-1', 'x-acme-1', ''].some((hash) => ownsHash(owner, hash))).toBe(false);
    expect(() => requireHash(owner, 'acme-1')).not.toThrow();
    expect(() => requireHash(owner, 'other-1')).toThrow('hash must begin with acme-, the hash_prefix of this API key.');
  });

  it('a key owns the sources that begin with its prefix', () => {
    expect(ownsSource(owner, 'acme/a.mp4')).toBe(true);
    expect(ownsSource(owner, 'acme.mp4')).toBe(false);
  });

  it('API_KEY owns every hash and source and may choose everything', () => {
    expect([ownsHash(admin, 'any'), ownsSource(admin, 'any')]).toEqual([true, true]);
    expect(() => requireChoices(admin, { profile: 'any', priority: 1000 })).not.toThrow();
  });
});

describe('choices', () => {
  it('profiles of the key and priorities up to its bound are permitted, others refused by their header', () => {
    for (const chosen of [{}, { profile: 'mobile' }, { priority: 0 }, { priority: -1000, profile: 'default' }])
      expect(() => requireChoices(owner, chosen)).not.toThrow();
    expect(() => requireChoices(owner, { profile: 'master' })).toThrow(
      'profile must be one of those of this API key: mobile, default.',
    );
    expect(() => requireChoices(owner, { priority: 1 })).toThrow('priority must be at most 0');
  });
});
