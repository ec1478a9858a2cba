import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { listWithin, readText } from './bounded-reads.ts';
import type { ObjectInfo, ObjectStore } from './object-store.ts';

const info: ObjectInfo = { key: 'a', sizeBytes: 1_000, etag: '"e"', lastModified: new Date(0) };

async function* trickle<T>(item: T) {
  for (;;) {
    await sleep(5);
    yield item;
  }
}

const slow = (body: Readable) =>
  ({ get: async () => ({ info, body }), list: () => trickle(info) }) as unknown as ObjectStore;
const code = 'storage_error';

it('an object that comes byte by byte is given up at the deadline, and its connection closed', async () => {
  const body = Readable.from(trickle(Buffer.from(' ')));
  await expect(readText(slow(body), { key: 'a', bytesMax: 2_000, timeoutMs: 50 })).rejects.toMatchObject({ code });
  expect(body.destroyed).toBe(true);
});

it('a list that does not end is given up at the deadline', async () => {
  const listed = Array.fromAsync(listWithin(slow(Readable.from([])), 'p/', { timeoutMs: 50 }));
  await expect(listed).rejects.toMatchObject({ code });
});

it('a read ends with the reason of its signal', async () => {
  const stopping = AbortSignal.abort(new Error('stopping'));
  const body = Readable.from(trickle(Buffer.from(' ')));
  const aborting = new AbortController();
  const read = readText(slow(body), { key: 'a', bytesMax: 2_000, signal: aborting.signal });
  await sleep(20);
  aborting.abort(stopping.reason);
  await expect(read).rejects.toThrow('stopping');
});
