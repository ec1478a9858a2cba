import { describe, expect, it } from 'vitest';
import { digestOfKey, namedKeyOf } from '#domain/keys/api-key.ts';
import { readKeyFile } from './key-file.ts';

const key = namedKeyOf((bytes) => Buffer.alloc(bytes, 7));
const sha256 = digestOfKey(key).toString('hex');

describe('the file of API keys', () => {
  it('names each key by its text or its digest, in YAML or JSON', () => {
    const bounds = 'hash_prefix: acme-, source_prefix: acme/, profiles: [mobile], priority_max: 3';
    const yaml = `- { name: acme, rights: [read, submit], key: ${key}, ${bounds}, expires_at: '2027-01-31T00:00:00Z' }`;
    const json = JSON.stringify([{ name: 'plain', rights: ['admin'], sha256 }]);
    expect([readKeyFile(yaml), readKeyFile(json)]).toMatchObject([
      {
        keys: [
          {
            name: 'acme',
            rights: ['read', 'submit'],
            hashPrefix: 'acme-',
            sourcePrefix: 'acme/',
            profiles: ['mobile'],
            priorityMax: 3,
            sha256: digestOfKey(key),
            expiresAt: new Date('2027-01-31T00:00:00Z'),
          },
        ],
      },
      { keys: [{ name: 'plain', id: sha256.slice(0, 8), hashPrefix: null, priorityMax: 0, expiresAt: null }] },
    ]);
    expect(readKeyFile('[]')).toEqual({ keys: [] });
  });

  it.each([
    ['nothing', '', /^: /],
    ['no list', '{ name: a }', /list|array/],
    ['no YAML', '- [', /expected YAML/],
    ['a key of another form', '- { name: a, rights: [read], key: secret-of-mine }', /^\/0\/key: must be rw_ and 43/],
    ['no secret', '- { name: a, rights: [read] }', /either key or sha256/],
    ['two secrets', `- { name: a, rights: [read], key: ${key}, sha256: '${sha256}' }`, /either key or sha256/],
    ['an unknown right', `- { name: a, rights: [all], key: ${key} }`, /^\/0\/rights\/0: /],
    ['an unknown field', `- { name: a, rights: [read], key: ${key}, prefix: a }`, /prefix/],
    ['an administrator below a prefix', `- { name: a, rights: [admin], key: ${key}, hash_prefix: a- }`, /hash_prefix/],
    [
      'one name twice',
      `[{ name: a, rights: [read], key: ${key} }, { name: a, rights: [read], sha256: '${'0'.repeat(64)}' }]`,
      /^\/1\/name: another entry has it$/,
    ],
    [
      'one secret twice',
      `[{ name: a, rights: [read], key: ${key} }, { name: b, rights: [read], sha256: '${sha256}' }]`,
      /^\/1: another entry has the same secret$/,
    ],
  ])('with %s has faults, which name the place and show no secret', (_, text, fault) => {
    const read = readKeyFile(text);
    const faults = 'faults' in read ? read.faults.join('\n') : '';
    expect(faults).toMatch(fault);
    expect(faults).not.toMatch(/secret-of-mine|BwcHBwcH/);
  });
});
