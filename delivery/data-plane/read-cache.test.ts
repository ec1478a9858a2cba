import { afterEach, describe, expect, it, vi } from 'vitest';
import { BlockPool, ownPiece } from '#platform/storage/blocks.ts';
import type { Download, PieceReceiver } from '#platform/storage/object-store.ts';
import { ReadCache } from './read-cache.ts';
import type { CoalescedRead } from './coalesced-read.ts';

const mebibyte = 1024 * 1024;

afterEach(() => void vi.useRealTimers());

/** An object on its way, whose bytes come when the test says so. */
class Source {
  isPaused = false;
  pauses = 0;
  isDestroyed = false;
  sentBytes = 0;
  #receiver: PieceReceiver | null = null;
  readonly sizeBytes: number;
  readonly download: Download;

  constructor(key: string, sizeBytes: number) {
    this.sizeBytes = sizeBytes;
    this.download = {
      info: { key, sizeBytes, etag: '"e"', lastModified: new Date(0) },
      start: (receiver) => (this.#receiver = receiver),
      pause: () => {
        this.isPaused = true;
        this.pauses += 1;
      },
      resume: () => (this.isPaused = false),
      destroy: () => (this.isDestroyed = true),
    };
  }

  /** Each time in a block of its own, when there are blocks to take. */
  send(bytes: number, blocks?: BlockPool): void {
    this.sentBytes += bytes;
    const block = blocks?.take();
    block?.room.fill('x', 0, bytes);
    block?.fill(bytes);
    this.#receiver?.onPiece(block?.handOn() ?? ownPiece(Buffer.alloc(bytes, 'x')));
    block?.release();
  }

  finish(): void {
    if (this.sentBytes < this.sizeBytes) this.send(this.sizeBytes - this.sentBytes);
    this.#receiver?.onEnd();
  }

  fail(): void {
    this.#receiver?.onFailure(new Error('cut off'));
  }
}

function whole(read: CoalescedRead) {
  return read.join({ start: 0, end: read.info.sizeBytes }, () => {});
}

/** Reads an object as one client does: found in the cache or not. */
function ask(cache: ReadCache, key: string, sizeBytes: number): 'memory' | 'source' {
  const found = cache.find(key);
  if (found !== null) return 'memory';
  const source = new Source(key, sizeBytes);
  const cursor = whole(cache.begin(key, source.download));
  source.finish();
  while (!cursor.isDone) for (const { piece } of cursor.take()) piece.release();
  cursor.taken();
  cursor.leave();
  return 'source';
}

describe('cached objects', () => {
  it('a small object is cached after its first read', () => {
    const cache = new ReadCache(64 * mebibyte);
    expect(['a', 'a'].map((key) => ask(cache, key, 1000))).toEqual(['source', 'memory']);
  });

  it('the cache never exceeds its memory and evicts the least recently used object first', () => {
    const cache = new ReadCache(10 * mebibyte);
    const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`);
    for (const key of [...keys, ...keys]) ask(cache, key, mebibyte);
    const cached = keys.filter((key) => cache.find(key) !== null);
    // Ten would fit if an entry cost no more than its bytes.
    expect(cached).toEqual(keys.slice(-9));
    expect(cached.reduce((sum, key) => sum + (cache.find(key)?.memoryBytes ?? 0), 0)).toBeLessThanOrEqual(
      10 * mebibyte,
    );
  });

  it('a cached object occupies little more than its bytes, also when it came in mostly empty blocks', () => {
    const cache = new ReadCache(64 * mebibyte);
    const blocks = new BlockPool();
    for (const isCached of [false, true]) {
      const source = new Source('a', 700_000);
      const cursor = whole(cache.begin('a', source.download));
      for (let n = 0; n < 700; n += 100) source.send(100_000, blocks);
      source.finish();
      while (!cursor.isDone) for (const { piece } of cursor.take()) piece.release();
      cursor.leave();
      expect(cache.find('a')?.isCached ?? false).toBe(isCached);
    }
    const cached = cache.find('a')!;
    expect(cached.memoryBytes).toBe(700_000);
    const bytes = Buffer.concat(
      whole(cached)
        .take()
        .map((taken) => taken.bytes),
    );
    expect(bytes.equals(Buffer.alloc(700_000, 'x'))).toBe(true);
  });

  it('a scan over objects that are requested once evicts nothing', () => {
    const cache = new ReadCache(16 * mebibyte);
    for (const key of ['hot', 'hot']) ask(cache, key, mebibyte);
    for (let n = 0; n < 100; n++) ask(cache, `scanned-${n}`, mebibyte);
    expect(ask(cache, 'hot', mebibyte)).toBe('memory');
  });

  it('an object over an eighth of the memory is not cached, and none is without memory', () => {
    const [small, none] = [new ReadCache(16 * mebibyte), new ReadCache(0)];
    expect([1, 2, 3].map(() => ask(small, 'video', 3 * mebibyte))).toEqual(['source', 'source', 'source']);
    expect([1, 2, 3].map(() => ask(none, 'init', 100))).toEqual(['source', 'source', 'source']);
  });

  it('an object whose source ended before its last byte is not cached', () => {
    const cache = new ReadCache(64 * mebibyte);
    const source = new Source('a', 1000);
    const read = cache.begin('a', source.download);
    whole(read);
    source.send(999);
    source.sentBytes = 1000;
    source.finish();
    expect([read.state, cache.find('a')]).toEqual(['failed', null]);
  });
});

describe('reads under way', () => {
  it('readers that come before a byte was released join a read, which holds all bytes from then on', () => {
    const cache = new ReadCache(64 * mebibyte);
    const source = new Source('a', mebibyte);
    const first = whole(cache.begin('a', source.download));
    source.send(1000);
    const joined = cache.find('a');
    expect(joined?.isCached).toBe(true);
    for (const { piece } of first.take()) piece.release();
    first.taken();
    const second = whole(joined!);
    expect(second.take()[0]?.bytes).toHaveLength(1000);
  });

  it('a read is not joined once its beginning was released', () => {
    const cache = new ReadCache(64 * mebibyte);
    const source = new Source('a', 2 * mebibyte);
    const first = whole(cache.begin('a', source.download));
    source.send(mebibyte / 2);
    for (const { piece } of first.take()) piece.release();
    first.taken();
    expect(cache.find('a')).toBeNull();
  });

  it('a read is not paused for a piece that its reader takes at once', () => {
    const source = new Source('a', 10 * mebibyte);
    const read = new ReadCache(0).begin('a', source.download);
    const cursor = read.join({ start: 0, end: source.sizeBytes }, () => {
      for (const { piece } of cursor.take()) piece.release();
      cursor.taken();
    });
    for (let n = 0; n < 20; n++) source.send(mebibyte / 2);
    expect([cursor.isDone, source.pauses]).toEqual([true, 0]);
  });

  it('a read that is paused goes on when it is cached for a second reader', () => {
    const cache = new ReadCache(64 * mebibyte);
    const source = new Source('a', mebibyte);
    const first = whole(cache.begin('a', source.download));
    while (!source.isPaused) source.send(64 * 1024);
    const second = cache.find('a');
    expect([second?.isCached, source.isPaused]).toEqual([true, false]);
    source.finish();
    expect([second?.state, first.state]).toEqual(['whole', 'whole']);
  });

  it('a read whose reader takes nothing for a second gives its connection and memory back', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const source = new Source('a', 20 * mebibyte);
    const read = new ReadCache(64 * mebibyte).begin('a', source.download);
    const cursor = whole(read);
    while (!source.isPaused) source.send(64 * 1024);
    vi.advanceTimersByTime(999);
    expect(cursor.state).toBe('reading');
    vi.advanceTimersByTime(1);
    expect([cursor.state, source.isDestroyed, read.memoryBytes]).toEqual(['released', true, 0]);
  });

  it('a reader is handed a segment of a cached read at once, and half a megabyte of another', () => {
    const cache = new ReadCache(64 * mebibyte);
    const handedBytes = ['a', 'a'].map((key) => {
      const source = new Source(key, 3 * mebibyte);
      const cursor = whole(cache.begin(key, source.download));
      source.finish();
      return cursor.take().reduce((sum, { bytes }) => sum + bytes.length, 0);
    });
    expect(handedBytes).toEqual([mebibyte / 2, 2 * mebibyte]);
  });

  it('a read continues without its first reader and ends with the last', () => {
    const cache = new ReadCache(64 * mebibyte);
    const source = new Source('a', mebibyte);
    const first = whole(cache.begin('a', source.download));
    const second = whole(cache.find('a')!);
    first.leave();
    expect(source.isDestroyed).toBe(false);
    second.leave();
    expect([source.isDestroyed, cache.find('a')]).toEqual([true, null]);
  });

  it('a released read notifies its readers, whose pieces stay valid', () => {
    const cache = new ReadCache(8 * mebibyte);
    for (const key of ['a', 'a']) ask(cache, key, mebibyte / 2);
    const [cursor, later] = [whole(cache.find('a')!), whole(cache.find('a')!)];
    const [handed] = cursor.take();
    for (let n = 0; n < 16; n++) for (const _ of [1, 2]) ask(cache, `other-${n}`, mebibyte / 2);
    expect([cursor.state, later.take().length]).toEqual(['released', 0]);
    expect(handed?.bytes.every((byte) => byte === 120)).toBe(true);
  });
});
