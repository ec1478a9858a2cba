import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import type { S3Settings } from '#platform/config/storage-settings.ts';
import { readDownload } from '../../testing/read-download.ts';

// One suite for every kind of store: what holds for a bucket holds for a folder.

interface Opened {
  store: ObjectStore;
  close: () => Promise<void>;
}

const contentType = 'application/octet-stream';
const problem = (code: string) => expect.objectContaining({ name: 'KnownProblem', code });

async function openFolder(): Promise<Opened> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-storage-'));
  const store = openObjectStore({ bucket: `file:${dir}`, dir });
  return { store, close: () => rm(dir, { recursive: true }) };
}

function s3Settings(server: { endpoint: string; accessKeyId: string; secretAccessKey: string }): S3Settings {
  const { endpoint, ...keys } = server;
  const rest = { region: 'us-east-1', forcePathStyle: true, timeoutMs: 10_000, chainVariables: {} };
  return { endpoint, keys, checksums: 'when_supported', ...rest };
}

async function openBucket(): Promise<Opened> {
  const server = inject('s3');
  if (server === null) throw new Error('no S3 server was started for this run');
  const settings = s3Settings(server);
  const bucket = `test-${randomBytes(6).toString('hex')}`;
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  const store = openObjectStore({ bucket, s3: settings });
  return { store, close: () => store.close() };
}

const digest = (data: Buffer) => createHash('sha256').update(data).digest('hex');

async function keysOf(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

async function readText(store: ObjectStore, key: string): Promise<string | null> {
  const object = await store.get(key);
  return object === null ? null : text(object.body);
}

describe.each([
  { kind: 'a folder', open: openFolder, isMissing: () => false },
  { kind: 'a bucket of an S3 server', open: openBucket, isMissing: () => inject('s3') === null },
])('$kind', ({ open, isMissing }) => {
  describe.skipIf(isMissing())('as a store', () => {
    let opened: Opened;
    let store: ObjectStore;
    beforeAll(async () => {
      opened = await open();
      store = opened.store;
    });
    afterAll(() => opened.close());

    it('a get returns the bytes that were put, with their size and date', async () => {
      const bytes = randomBytes(100_000);
      const before = Date.now();
      await store.put('round/trip.bin', bytes, { contentType });
      const object = await store.get('round/trip.bin');
      expect(await buffer(object!.body)).toEqual(bytes);
      expect(object!.info).toMatchObject({ key: 'round/trip.bin', sizeBytes: 100_000 });
      expect(object!.info.etag).toMatch(/^".+"$/);
      expect(Math.abs(object!.info.lastModified.getTime() - before)).toBeLessThan(60_000);
      expect(await store.head('round/trip.bin')).toEqual(object!.info);
    });

    it('a key is written once by putNew: of two writers one is answered true, and its bytes stay', async () => {
      const bodies = ['one', 'two'].map((body) => Buffer.from(body));
      const written = await Promise.all(bodies.map((body) => store.putNew('once/a', body, { contentType })));
      expect(written.filter(Boolean)).toHaveLength(1);
      expect(await store.putNew('once/a', Buffer.from('three'), { contentType })).toBe(false);
      const stored = await store.get('once/a');
      expect(await text(stored?.body ?? Readable.from(''))).toBe(written[0] === true ? 'one' : 'two');
      expect(await keysOf(store, 'once/')).toEqual(['once/a']);
    });

    it('a stream of 20 MiB in odd pieces is stored', async () => {
      const bytes = randomBytes(20 * 1024 * 1024);
      const pieces = Array.from({ length: 321 }, (_, n) => bytes.subarray(n * 65_431, (n + 1) * 65_431));
      await store.put('large/stream', Readable.from(pieces), { contentType });
      const object = await store.get('large/stream');
      expect(object!.info.sizeBytes).toBe(bytes.length);
      expect(digest(await buffer(object!.body))).toBe(digest(bytes));
    });

    it('ranges are read with both ends inclusive', async () => {
      await store.put('ranges', '0123456789', { contentType });
      const range = async (start: number, end?: number) => {
        const object = await store.get('ranges', { range: { start, ...(end === undefined ? {} : { end }) } });
        expect(object!.info.sizeBytes).toBe(10);
        return text(object!.body);
      };
      expect(await range(0, 0)).toBe('0');
      expect(await range(2, 4)).toBe('234');
      expect(await range(7)).toBe('789');
      expect(await range(8, 100)).toBe('89');
    });

    it('a part of an object is downloaded, of the version that is wanted', async () => {
      const bytes = randomBytes(1_500_000);
      await store.put('part', bytes, { contentType });
      const { etag } = (await store.head('part'))!;
      for (const range of [
        { start: 0, end: 0 },
        { start: 2, end: 700_000 },
        { start: 1_000_000, end: 1_499_999 },
        { start: 0, end: 1_499_999 },
      ]) {
        const download = await store.download('part', { range, ifMatch: etag });
        expect(download!.info).toMatchObject({ key: 'part', sizeBytes: bytes.length, etag });
        expect((await readDownload(download!)).equals(bytes.subarray(range.start, range.end + 1))).toBe(true);
      }
      const range = { start: 0, end: 9 };
      await expect(store.download('part', { range, ifMatch: '"other"' })).rejects.toEqual(problem('source_changed'));
      const past = { start: 1_500_000, end: 1_500_001 };
      await expect(store.download('part', { range: past })).rejects.toEqual(problem('storage_error'));
      expect(await store.download('nothing/here', { range })).toBeNull();
    });

    it('the first bytes are read, or all of a smaller object, and none of an empty one', async () => {
      await store.put('start', '0123456789', { contentType });
      expect((await store.readStart('start', 4))?.toString()).toBe('0123');
      expect((await store.readStart('start', 100))?.toString()).toBe('0123456789');
      await store.put('start', '', { contentType });
      expect(await store.readStart('start', 100)).toHaveLength(0);
      expect(await store.readStart('nothing/here', 100)).toBeNull();
    });

    it('a range that begins past the end is refused', async () => {
      await store.put('ranges', '0123456789', { contentType });
      await expect(store.get('ranges', { range: { start: 10 } })).rejects.toEqual(problem('storage_error'));
      await expect(store.get('ranges', { range: { start: 3, end: 2 } })).rejects.toEqual(problem('storage_error'));
    });

    it('a missing object is null', async () => {
      expect(await store.head('nothing/here')).toBeNull();
      expect(await store.get('nothing/here')).toBeNull();
      expect(await store.get('nothing/here', { ifMatch: '"abc"' })).toBeNull();
    });

    it('a folder is no object', async () => {
      await store.put('folder/inner', 'x', { contentType });
      expect(await store.head('folder')).toBeNull();
      expect(await store.get('folder')).toBeNull();
      expect(await store.readStart('folder', 10)).toBeNull();
    });

    it('only the requested version is read', async () => {
      await store.put('versions', 'first', { contentType });
      const first = await store.head('versions');
      expect(await text((await store.get('versions', { ifMatch: first!.etag }))!.body)).toBe('first');
      await store.put('versions', 'other', { contentType });
      await expect(store.get('versions', { ifMatch: first!.etag })).rejects.toEqual(problem('source_changed'));
    });

    it('each of several quick writes has its own ETag', async () => {
      const etags = new Set<string>();
      for (let n = 0; n < 30; n += 1) {
        await store.put('quick', `value ${n + 10}`, { contentType });
        etags.add((await store.head('quick'))!.etag);
      }
      expect(etags.size).toBe(30);
    });

    it('objects are listed by prefix in the order of their UTF-8 bytes', async () => {
      const keys = ['l/a', 'l/a-b', 'l/a.b', 'l/ab', 'l/B', 'l/b/c', 'l/b0', 'l/é', 'l/～', 'l/🎬', 'lz'];
      for (const key of keys) await store.put(key, key, { contentType });
      const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(await keysOf(store, 'l')).toEqual(expect.arrayContaining(sorted));
      expect(await keysOf(store, 'l/')).toEqual(sorted.filter((key) => key.startsWith('l/')));
      expect(await keysOf(store, 'l/a')).toEqual(['l/a', 'l/a-b', 'l/a.b', 'l/ab']);
      expect(await keysOf(store, 'l/b')).toEqual(['l/b/c', 'l/b0']);
      expect(await keysOf(store, 'nothing')).toEqual([]);
    });

    it('more objects than fit on a page are listed and deleted', async () => {
      const keys = Array.from({ length: 1203 }, (_, n) => `many/${String(n).padStart(5, '0')}`);
      for (let n = 0; n < keys.length; n += 25) {
        await Promise.all(keys.slice(n, n + 25).map((key) => store.put(key, 'x', { contentType })));
      }
      expect(await keysOf(store, 'many/')).toEqual(keys);
      await store.delete([...keys, 'many/that-never-was']);
      expect(await keysOf(store, 'many/')).toEqual([]);
    });

    it.each([
      'odd/with space',
      'odd/?query=1&two#fragment',
      `odd/quotes'"<>&`,
      'odd/back\\slash',
      'odd/ünïcode/日本語/🎬',
      'odd/e\u0301',
      'odd/~tilde*star!(paren)',
    ])('the key %j is kept as it is', async (key) => {
      await store.put(key, key, { contentType });
      expect(await readText(store, key)).toBe(key);
      expect(await keysOf(store, key)).toEqual([key]);
      await store.delete([key]);
      expect(await store.head(key)).toBeNull();
    });

    it.each(['', '../outside', 'hostile/../../outside', 'nul\0byte', 'x'.repeat(1025), 'lone\ud800surrogate'])(
      'the key %j is refused by every operation',
      async (key) => {
        await expect(store.put(key, 'x', { contentType })).rejects.toEqual(problem('storage_error'));
        await expect(store.head(key)).rejects.toEqual(problem('storage_error'));
        await expect(store.get(key)).rejects.toEqual(problem('storage_error'));
        await expect(store.delete([key])).rejects.toEqual(problem('storage_error'));
      },
    );

    it('a put whose stream fails stores nothing and throws the error of the stream', async () => {
      const failure = new Error('the camera is unplugged');
      const body = Readable.from(
        (function* pieces() {
          yield Buffer.alloc(6 * 1024 * 1024);
          throw failure;
        })(),
      );
      await expect(store.put('broken', body, { contentType })).rejects.toBe(failure);
      expect(await store.head('broken')).toBeNull();
    });

    it('an aborted put ends with the reason, though its stream stalls', async () => {
      const stopping = new AbortController();
      const reason = new Error('shutting down');
      const body = new Readable({ read: () => {} });
      body.push('a beginning');
      const put = store.put('aborted', body, { contentType, signal: stopping.signal });
      setTimeout(() => stopping.abort(reason), 50);
      await expect(put).rejects.toBe(reason);
      expect(body.destroyed).toBe(true);
      expect(await store.head('aborted')).toBeNull();
    });

    it('an aborted body ends with the reason', async () => {
      await store.put('long', randomBytes(8 * 1024 * 1024), { contentType });
      const stopping = new AbortController();
      const { body } = (await store.get('long', { signal: stopping.signal }))!;
      await once(body, 'readable');
      const reason = new Error('the client went away');
      const failed = once(body, 'error');
      stopping.abort(reason);
      expect(await failed.catch((error: unknown) => [error])).toEqual([reason]);
    });
  });
});
