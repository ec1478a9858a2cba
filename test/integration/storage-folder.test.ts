import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openFolderMultipart } from '#platform/storage/folder/folder-multipart.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { readDownload } from '../../testing/read-download.ts';

// What holds for a folder alone: links, keys that a file system has no name for, and what crashed writes leave.

const contentType = 'application/octet-stream';
const storageError = expect.objectContaining({ name: 'KnownProblem', code: 'storage_error' });

let around: string;
let dir: string;
let store: ObjectStore;

beforeEach(async () => {
  around = await mkdtemp(join(tmpdir(), 'reelwright-folder-'));
  dir = join(around, 'store');
  await mkdir(dir);
  store = openObjectStore({ bucket: `file:${dir}`, dir });
});
afterEach(() => rm(around, { recursive: true }));

const put = (key: string, value: string) => store.put(key, value, { contentType });

const value = (n: number) => String(n % 10).repeat(300_000);
const openFiles = async () => (await readdir('/proc/self/fd')).length;

async function read(key: string): Promise<string | null> {
  const object = await store.get(key);
  return object === null ? null : text(object.body);
}

async function keysOf(prefix: string, from = store): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of from.list(prefix)) keys.push(key);
  return keys;
}

describe('parts in a folder', () => {
  it('parts that become an object replace none that another process has made of them', async () => {
    const parts = openFolderMultipart(dir);
    const of = { key: 'uploads/1/a.mp4', id: await parts.begin('uploads/1/a.mp4', { contentType }) };
    const body = Buffer.from('bytes');
    const part = await parts.put(of, 1, { body, sizeBytes: body.length });
    await put(of.key, 'bytes');
    const made = await store.head(of.key);
    expect(await parts.complete(of, [part])).toBe('completed');
    expect(await store.head(of.key)).toEqual(made);
    expect([await parts.list(of), await readdir(join(dir, '.reelwright/tmp'))]).toEqual([[], []]);
    expect(await parts.complete(of, [part])).toBe('missing');
  });
});

describe('a folder as a store', () => {
  it('the objects of a folder store are its files, at the paths of their keys', async () => {
    await mkdir(join(dir, 'clips'));
    await writeFile(join(dir, 'clips/a.mp4'), 'clip');
    expect(await read('clips/a.mp4')).toBe('clip');
    await put('clips/b.mp4', 'other');
    expect(await readFile(join(dir, 'clips/b.mp4'), 'utf8')).toBe('other');
    expect(await keysOf('')).toEqual(['clips/a.mp4', 'clips/b.mp4']);
  });

  it('a folder store leaves no temporary file and no folder that a delete has emptied', async () => {
    await put('a/b/c', 'x');
    await store.delete(['a/b/c']);
    expect(await readdir(dir)).toEqual(['.reelwright']);
    expect(await readdir(join(dir, '.reelwright'))).toEqual(['tmp']);
    expect(await readdir(join(dir, '.reelwright/tmp'))).toEqual([]);
  });

  it('the ETag changes when a file is edited in place', async () => {
    const path = join(dir, 'edited');
    await writeFile(path, 'one');
    await utimes(path, 1000, 1000);
    const before = await store.head('edited');
    await writeFile(path, 'two');
    expect((await store.head('edited'))!.etag).not.toBe(before!.etag);
  });

  it('readers get the old object or the new one, whole, while it is written again and again', async () => {
    await put('busy', value(0));
    const state = { isWriting: true };
    const writing = (async () => {
      for (let n = 1; n < 40; n += 1) await put('busy', value(n));
      state.isWriting = false;
    })();
    let reads = 0;
    while (state.isWriting) {
      const found = await read('busy');
      expect(found).toHaveLength(300_000);
      expect(new Set(found)).toHaveProperty('size', 1);
      reads += 1;
    }
    await writing;
    expect(reads).toBeGreaterThan(5);
  });

  it('the file of a body that is not read to its end is closed', async () => {
    await put('unread', 'x'.repeat(1024 * 1024));
    const before = await openFiles();
    for (let n = 0; n < 20; n += 1) {
      const { body } = (await store.get('unread'))!;
      body.destroy();
      await new Promise((resolve) => body.once('close', resolve));
    }
    for (let n = 0; n < 20; n += 1) await store.get('unread', { ifMatch: '"other"' }).catch(() => undefined);
    await expect.poll(openFiles).toBeLessThanOrEqual(before + 1);
  });

  it('a missing folder is reported as unreachable', async () => {
    const missing = openObjectStore({ bucket: 'file:/nowhere', dir: join(around, 'nowhere') });
    await expect(missing.ping()).rejects.toEqual(storageError);
    await expect(missing.head('a')).rejects.toEqual(storageError);
    await expect(missing.put('a', 'x', { contentType })).rejects.toEqual(storageError);
    await expect(keysOf('', missing)).rejects.toEqual(storageError);
  });

  it('temporary files of crashed writes are removed after a day', async () => {
    const temporaries = join(dir, '.reelwright/tmp');
    await mkdir(temporaries, { recursive: true });
    await writeFile(join(temporaries, 'old'), 'x');
    await writeFile(join(temporaries, 'new'), 'x');
    const dayBefore = Date.now() / 1000 - 25 * 3600;
    await utimes(join(temporaries, 'old'), dayBefore, dayBefore);
    await put('a', 'x');
    expect(await readdir(temporaries)).toEqual(['new']);
  });
});

describe('symbolic links', () => {
  let outside: string;
  beforeEach(async () => {
    outside = join(around, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'secret'), 'not yours');
  });

  it('symbolic links inside of the folder are followed', async () => {
    await mkdir(join(dir, 'real'));
    await writeFile(join(dir, 'real/a'), 'linked');
    await symlink('real', join(dir, 'alias'));
    await symlink('real/a', join(dir, 'single'));
    expect(await read('alias/a')).toBe('linked');
    expect(await read('single')).toBe('linked');
    expect((await store.readStart('single', 4))?.toString()).toBe('link');
    expect(await keysOf('')).toEqual(['alias/a', 'real/a', 'single']);
  });

  it('symbolic links do not lead a reader out of the folder', async () => {
    await symlink(join(outside, 'secret'), join(dir, 'file'));
    await symlink(outside, join(dir, 'folder'));
    await symlink('../outside', join(dir, 'relative'));
    for (const key of ['file', 'folder/secret', 'relative/secret']) {
      expect(await store.head(key)).toBeNull();
      expect(await store.get(key)).toBeNull();
      expect(await store.readStart(key, 10)).toBeNull();
    }
    expect(await keysOf('')).toEqual([]);
    expect(await keysOf('folder/')).toEqual([]);
  });

  it('symbolic links do not lead a writer out of the folder', async () => {
    await symlink(outside, join(dir, 'folder'));
    await expect(put('folder/new', 'x')).rejects.toEqual(storageError);
    await expect(put('folder/deep/new', 'x')).rejects.toEqual(storageError);
    await store.delete(['folder/secret']);
    expect(await readdir(outside)).toEqual(['secret']);
    await symlink(join(outside, 'secret'), join(dir, 'file'));
    await put('file', 'mine');
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('not yours');
    expect(await read('file')).toBe('mine');
  });

  it('a circle of symbolic links does not make a listing endless', async () => {
    await mkdir(join(dir, 'round'));
    await writeFile(join(dir, 'round/a'), 'x');
    await symlink('..', join(dir, 'round/up'));
    await symlink('.', join(dir, 'self'));
    await symlink('nothing', join(dir, 'dangling'));
    await symlink('knot', join(dir, 'knot'));
    expect(await keysOf('')).toEqual(['round/a']);
    expect(await store.head('dangling')).toBeNull();
    expect(await store.head('knot')).toBeNull();
  });
});

describe('other files', () => {
  it('a named pipe and a folder are no objects', async () => {
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    await mkdir(join(dir, 'folder'));
    for (const key of ['pipe', 'folder']) {
      expect(await store.head(key)).toBeNull();
      expect(await store.get(key)).toBeNull();
    }
    expect(await keysOf('')).toEqual([]);
  });
});

describe('keys without a natural path', () => {
  const strange = [
    'a//b',
    '/a',
    `long/${'n'.repeat(256)}`,
    `${'ü'.repeat(400)}/x`,
    'y'.repeat(1024),
    '.reelwright/tmp/x',
  ];

  it.each(strange)('an object with the key %j is kept', async (key) => {
    await put(key, key);
    expect(await read(key)).toBe(key);
    expect((await store.head(key))!.key).toBe(key);
    expect(await keysOf('')).toEqual([key]);
    expect(await readdir(dir)).toEqual(['.reelwright']);
    await store.delete([key]);
    expect(await store.head(key)).toBeNull();
    expect(await keysOf('')).toEqual([]);
  });

  it('a key may be the beginning of another', async () => {
    await put('media', 'an object');
    await put('media/inner/a', 'below it');
    await put('other/a', 'below');
    await put('other', 'an object above');
    expect(await read('media')).toBe('an object');
    expect(await read('media/inner/a')).toBe('below it');
    expect(await read('other')).toBe('an object above');
    expect(await keysOf('')).toEqual(['media', 'media/inner/a', 'other', 'other/a']);
    expect(await keysOf('media/')).toEqual(['media/inner/a']);
  });

  it('an object moves to its natural path when that is free, and the newer object is read', async () => {
    await put('media', 'an object');
    await put('media/a', 'old');
    await store.delete(['media']);
    await put('media/a', 'new');
    expect(await read('media/a')).toBe('new');
    expect(await keysOf('')).toEqual(['media/a']);
    await store.delete(['media/a']);
    expect(await keysOf('')).toEqual([]);
    expect(await read('media/a')).toBeNull();
  });
});

const openIn = async () => {
  const paths = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(paths)).filter((path) => path.startsWith(dir));
};
const begin = async (key: string, signal?: AbortSignal) => {
  const download = await store.download(key, { signal });
  if (download === null) throw new Error(`${key} is not there`);
  return download;
};

describe('a download', () => {
  it.each([0, 1, 524_288, 524_289, 1_400_000])(
    'a download of %i bytes gives all of them and closes the file',
    async (size) => {
      const bytes = randomBytes(size);
      await writeFile(join(dir, 'a'), bytes);
      const download = await begin('a');
      expect(download.info).toEqual(await store.head('a'));
      expect((await readDownload(download)).equals(bytes)).toBe(true);
      expect(await openIn()).toEqual([]);
      expect(await store.download('b')).toBeNull();
    },
  );

  it('a destroyed download calls its receiver no more and closes the file, started or not', async () => {
    await writeFile(join(dir, 'a'), randomBytes(700_000));
    (await begin('a')).destroy();
    const download = await begin('a');
    const events: unknown[] = [];
    download.start({
      onPiece: (piece) => {
        events.push('piece');
        piece.release();
        download.destroy();
      },
      onEnd: () => events.push('end'),
      onFailure: (error) => events.push(error),
    });
    await vi.waitFor(async () => expect(await openIn()).toEqual([]));
    expect(events).toEqual(['piece']);
  });

  it('a download fails when its file is truncated or its signal aborted', async () => {
    await writeFile(join(dir, 'a'), randomBytes(700_000));
    const cut = await begin('a');
    await truncate(join(dir, 'a'), 300_000);
    await expect(readDownload(cut)).rejects.toEqual(storageError);
    const stop = new AbortController();
    const given = await begin('a', stop.signal);
    const reason = new Error('given up');
    await expect(readDownload(given, () => stop.abort(reason))).rejects.toBe(reason);
    expect(await openIn()).toEqual([]);
  });
});
