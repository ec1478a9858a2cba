import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { imageKey, videoKey } from '../media/object-keys.ts';
import { mediaFolders, ObjectListDigest, purgePathsOf, receiptOf } from './deletion.ts';

const secret = 'whsec_a secret of sixteen bytes';
const receipt = receiptOf(
  {
    id: 'f2a1d6c4-7c39-4f0b-9d7e-0a4f6f0f2b11',
    hash: 'movie-1',
    reason: 'request',
    requestedAt: new Date('2026-11-24T08:00:00Z'),
    kid: null,
    objects: 2,
    bytes: 30,
    objectsSha256: 'ab',
    finishedAt: new Date('2026-11-24T08:00:09Z'),
  },
  secret,
);

describe('a receipt', () => {
  const [, recipe = ''] =
    /```python\n(import hashlib, hmac, json\n+def receipt_holds[\s\S]*?)```/.exec(
      readFileSync('docs/guides/api.md', 'utf8'),
    ) ?? [];
  const holds = (given: object, by: string) => {
    const program = `${recipe}\nimport sys\nprint(receipt_holds(json.loads(sys.argv[1]), sys.argv[2]))`;
    return spawnSync('python3', ['-c', program, JSON.stringify(given), by], { encoding: 'utf8' }).stdout.trim();
  };

  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'is verified by the Python of the guide, and by no other secret or field',
    () => {
      expect(recipe.split('\n').length).toBeLessThanOrEqual(20);
      expect(holds(receipt, secret)).toBe('True');
      expect(holds(receipt, `${secret}x`)).toBe('False');
      for (const field of ['hash', 'objects', 'bytes', 'objects_sha256', 'kid', 'finished_at', 'deletion_id'])
        expect([field, holds({ ...receipt, [field]: 'other' }, secret)]).toEqual([field, 'False']);
    },
  );
});

function digestOf(...objects: Parameters<ObjectListDigest['add']>[0][]) {
  const digest = new ObjectListDigest();
  for (const object of objects) digest.add(object);
  return [digest.objects, digest.bytes, digest.end()];
}

it('the digest of a list differs for every key, size, digest and order', () => {
  const [one, other] = [
    { key: 'a', sizeBytes: 1, etag: '"x"', sha256: null },
    { key: 'b', sizeBytes: 2, etag: '"y"', sha256: 'b' },
  ];
  expect(digestOf(one, other).slice(0, 2)).toEqual([2, 3]);
  const digests = [
    digestOf(one, other),
    digestOf(other, one),
    digestOf(one),
    digestOf({ ...one, etag: '"z"' }),
    digestOf({ ...one, sha256: 'a' }),
    digestOf({ ...one, sizeBytes: 9 }),
    digestOf({ ...one, key: 'c' }),
  ].map((each) => each[2]);
  expect(new Set(digests).size).toBe(digests.length);
});

const isIn = (key: string) => mediaFolders('m').some((folder) => key.startsWith(folder));

it('the folders and purge paths of a media cover its objects and no other media', () => {
  const rev = '0123456789abcdef';
  const keys = [videoKey('m', rev, 'cover.jpg'), imageKey('m', rev, { variant: 'thumb', format: 'webp' })];
  const others = [videoKey('m2', rev, 'cover.jpg'), imageKey('m.2', rev, { variant: 'thumb', format: 'webp' })];
  expect([keys.every(isIn), others.some(isIn)]).toEqual([true, false]);
  const encodedStarts = purgePathsOf('m').flatMap((path) => /^\/thumb\/\*\/(.+)\*$/.exec(path)?.[1] ?? []);
  const isPurged = (key: string) =>
    encodedStarts.some((start) => Buffer.from(key).toString('base64url').startsWith(start));
  expect(keys.every(isPurged)).toBe(true);
  expect(purgePathsOf('m')).toContain('/stream/m/*');
});
