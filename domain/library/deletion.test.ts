import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imageKey, mediaPrefix, videoKey } from '../media/object-keys.ts';
import { mediaFolders, ObjectListDigest, purgeBody, purgePathsOf, receiptOf } from './deletion.ts';

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
  it('has every field of its deletion, and the same signature from every version of the service', () => {
    expect(receipt).toEqual({
      v: 1,
      deletion_id: 'f2a1d6c4-7c39-4f0b-9d7e-0a4f6f0f2b11',
      hash: 'movie-1',
      reason: 'request',
      requested_at: '2026-11-24T08:00:00.000Z',
      finished_at: '2026-11-24T08:00:09.000Z',
      objects: 2,
      bytes: 30,
      objects_sha256: 'ab',
      kid: null,
      signature: '0759edf4d3c67d63d74147651ff8656bcf86df96901b3da640fd19e288cf62ca',
    });
  });

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
    // Python starts ten times, which takes seconds on a loaded machine.
    60_000,
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

it('the digest of a list is the SHA-256 of its lines, so that another program finds it', () => {
  const [, , digest] = digestOf(
    { key: 'a', sizeBytes: 1, etag: '"x"', sha256: null },
    { key: 'b', sizeBytes: 2, etag: '"y"', sha256: 'b' },
  );
  // printf 'a 1 "x"\nb 2 b\n' | sha256sum
  expect(digest).toBe('e78279b7a85f7dedd97e2d7a95318d637cd44d5a0db751b77411cf8d9fd52baa');
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

it('what a CDN purges of a media covers its streams, its keys and every image, by however long a hash', () => {
  const hashes = fc.stringMatching(/^[a-z0-9]{1,12}$/);
  fc.assert(
    fc.property(hashes, fc.string({ maxLength: 8 }), (hash, name) => {
      const paths = purgePathsOf(hash);
      expect(paths.slice(0, 3)).toEqual([`/stream/${hash}/*`, `/api/key/${hash}`, `/api/key/${hash}/*`]);
      expect(paths.slice(5)).toEqual([`/s/*/${hash}/*`]);
      for (const [n, folder] of ['videos', 'images'].entries()) {
        const start = `${folder}/${mediaPrefix(hash)}/${hash}/`;
        const path = paths[3 + n]?.replace(/^\/thumb\/\*\/(.*)\*$/, '$1') ?? '';
        expect(
          Buffer.from(start + name)
            .toString('base64url')
            .startsWith(path),
        ).toBe(true);
        // It says as much of the folder as whole characters can: all but a part of its last byte.
        expect(Buffer.from(path, 'base64url').length).toBeGreaterThanOrEqual(start.length - 1);
      }
    }),
  );
});

it('a purge hook gets the event, its time and the paths', () => {
  const body = purgeBody({ eventId: 'e', hash: 'm', occurredAt: new Date('2026-11-24T08:00:00Z') });
  expect(JSON.parse(body)).toEqual({
    event_id: 'e',
    occurred_at: '2026-11-24T08:00:00.000Z',
    event: 'media.purge',
    hash: 'm',
    paths: purgePathsOf('m'),
  });
});
