import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { ClientAddresses } from '#platform/http/client-addresses.ts';
import { RecentClients } from '#platform/rate-limit/recent-clients.ts';
import { ownPiece } from '#platform/storage/blocks.ts';
import type { Download, ObjectInfo, ObjectStore } from '#platform/storage/object-store.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { MediaReader, type Reader } from './media-reader.ts';

const rev = '0123456789abcdef';
const client: Reader = { socket: { remoteAddress: '192.0.2.1' } as Reader['socket'], headers: {} };

const infoOf = (key: string, sizeBytes: number): ObjectInfo => {
  return { key, sizeBytes, etag: '"e"', lastModified: new Date(0) };
};

/** A bucket in memory, which records what it is asked. */
function bucketOf(objects: Map<string, number>) {
  const requests: string[] = [];
  const bodies: Readable[] = [];
  const answer = <Answer>(request: string, key: string, make: (sizeBytes: number) => Answer): Answer | null => {
    requests.push(`${request} ${key}`);
    const sizeBytes = objects.get(key);
    if (sizeBytes === -1) throw new Error('the bucket is away');
    return sizeBytes === undefined ? null : make(sizeBytes);
  };
  const store = {
    head: async (key: string) => answer('HEAD', key, (size) => infoOf(key, size)),
    get: async (key: string) =>
      answer('GET', key, (size) => {
        const body = Readable.from([Buffer.alloc(Math.min(size, 100))]);
        bodies.push(body);
        return { info: infoOf(key, size), body };
      }),
    download: async (key: string) =>
      answer('GET', key, (size): Download => {
        return {
          info: infoOf(key, size),
          start: (receiver) => {
            receiver.onPiece(ownPiece(Buffer.alloc(size)));
            receiver.onEnd();
          },
          pause: () => undefined,
          resume: () => undefined,
          destroy: () => undefined,
        };
      }),
  } as unknown as ObjectStore;
  const metrics = new Metrics();
  const options = { clients: new ClientAddresses([]), recent: new RecentClients(), metrics };
  return { reader: new MediaReader(store, { ...options, cacheBytesMax: 64 * 1024 * 1024 }), requests, bodies };
}

describe('MediaReader', () => {
  it('C29.11, C29.15: what is in memory of a deleted media is dropped, and what was missing, and of no other', async () => {
    const names = ['p.m3u8', 'a.m4s', 'none.m4s'];
    const keysOf = (hash: string) => names.map((name) => videoKey(hash, rev, name));
    const objects = new Map(['a', 'b'].flatMap((hash) => keysOf(hash).slice(0, 2)).map((key) => [key, 10]));
    const { reader, requests } = bucketOf(objects);
    const ask = async (hash: string) => {
      const [playlist = '', object = '', none = ''] = keysOf(hash);
      await reader.playlist(playlist);
      (await reader.open(object, client))?.join({ start: 0, end: 10 }, () => undefined).take();
      return reader.head(none, client);
    };
    for (const hash of ['a', 'b', 'a', 'b']) expect(await ask(hash)).toBeNull();
    expect(requests).toHaveLength(6);
    reader.forget(['a']);
    for (const key of keysOf('a')) objects.set(key, 10);
    expect(await ask('a')).not.toBeNull();
    expect(await ask('b')).toBeNull();
    expect(requests.slice(6).map((request) => request.split(' ')[1])).toEqual(keysOf('a'));
  });

  it('C17.27: reads that find nothing or fail keep no place', async () => {
    const objects = new Map<string, number>();
    const { reader } = bucketOf(objects);
    const range = { range: { start: 0, end: 1 }, ifMatch: '"e"' };
    for (let n = 0; n < 700; n++) {
      const [missing, failing] = [videoKey('a', rev, `${n}.m4s`), videoKey('b', rev, `${n}.m4s`)];
      objects.set(failing, -1);
      expect(await reader.open(missing, client)).toBeNull();
      await expect(reader.open(failing, client)).rejects.toThrow('the bucket is away');
      expect(await reader.openRange(missing, range, client)).toBeNull();
      await expect(reader.openRange(failing, range, client)).rejects.toThrow('the bucket is away');
    }
  });

  it('a playlist over 4 MiB is read as any other object, and its body is given up', async () => {
    const [large, fits] = [videoKey('a', rev, 'large.m3u8'), videoKey('a', rev, 'fits.m3u8')];
    const sizes = new Map([
      [large, 4 * 1024 * 1024 + 1],
      [fits, 4 * 1024 * 1024],
    ]);
    const { reader, bodies } = bucketOf(sizes);
    expect([await reader.playlist(large), bodies[0]?.destroyed]).toEqual([null, true]);
    expect(await reader.playlist(fits)).not.toBeNull();
  });

  it('requests at once for the playlist that names the current revision are one', async () => {
    const { reader, requests } = bucketOf(new Map([[masterKey('a'), 10]]));
    const [first, second] = await Promise.all([reader.playlist(masterKey('a')), reader.playlist(masterKey('a'))]);
    expect([first === second, requests]).toEqual([true, [`GET ${masterKey('a')}`]]);
    expect(reader.cachedPlaylist(masterKey('a'))).toBe(first);
  });
});
