import { randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, realpath, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { KnownProblem } from '#domain/errors.ts';
import { chunksOf } from '../errors.ts';
import { isInside, isMissing, unlessMissing } from './file-info.ts';
import { naturalNames, spareNames, temporaryFolder } from './file-paths.ts';
import type { RealFolders } from './real-folders.ts';

export interface WriteTarget {
  /** The store's folder, a real path. */
  readonly root: string;
  readonly folders: RealFolders;
}

/** The content of a file: bytes, or a function that writes them, which needs no new memory for each piece. */
type Body = Buffer | string | Readable | ((handle: FileHandle) => Promise<void>);

/**
 * Writes an object, whole or not at all: into a temporary file, then by a rename.
 *
 * A crash leaves a temporary file, which a later process removes.
 *
 * @throws BodyFailure when the stream `body` fails
 */
export async function writeObject(target: WriteTarget, key: string, body: Body, signal?: AbortSignal): Promise<void> {
  await throughTemporary(target, { body, signal }, (temporary) => moveToKey(target, temporary, key));
}

/**
 * Writes an object unless its natural path is taken: a link fails where a rename would replace.
 *
 * @throws KnownProblem `storage_error` for a key without a natural path
 */
export async function writeNewObject(
  target: WriteTarget,
  key: string,
  body: Body,
  signal?: AbortSignal,
): Promise<boolean> {
  const names = naturalNames(key);
  if (names === null) throw new KnownProblem('storage_error', 'The key has no path of its own in a folder.');
  return throughTemporary(target, { body, signal }, async (temporary) => {
    try {
      await inFolder(target, names.slice(0, -1), (folder) => link(temporary, join(folder, names.at(-1) ?? '')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await unlessMissing(() => unlink(temporary));
    }
    return true;
  });
}

/**
 * Writes a file of the store's own, whole or not at all, at the path that `namesOf` gives once `body` has been read.
 *
 * @throws BodyFailure when the stream `body` fails
 */
export async function writeOwnFile(
  target: WriteTarget,
  namesOf: () => readonly string[],
  { body, signal }: { readonly body: Readable | Buffer; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  await throughTemporary(target, { body, signal }, (temporary) => moveTo(target, temporary, namesOf()));
}

/** Writes `body` to a temporary file, which `place` makes an object of; a failure leaves no file. */
async function throughTemporary<T>(
  target: WriteTarget,
  { body, signal }: { readonly body: Body; readonly signal: AbortSignal | undefined },
  place: (temporary: string) => Promise<T>,
): Promise<T> {
  const { handle, path: temporary } = await openTemporary(target);
  try {
    try {
      await writeBody(handle, body, signal);
      // The clock of a file system ticks every few milliseconds; two writes in one tick must not look the same.
      const now = (performance.timeOrigin + performance.now()) / 1000;
      await handle.utimes(now, now);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    signal?.throwIfAborted();
    return await place(temporary);
  } catch (error) {
    await unlessMissing(() => unlink(temporary));
    throw error;
  }
}

function openTemporary(target: WriteTarget): Promise<{ handle: FileHandle; path: string }> {
  const names = temporaryFolder(target.root)
    .slice(target.root.length + 1)
    .split('/');
  return inFolder(target, names, async (folder) => {
    const path = join(folder, randomUUID());
    return { handle: await open(path, 'wx'), path };
  });
}

async function writeBody(handle: FileHandle, body: Body, signal?: AbortSignal): Promise<void> {
  if (typeof body === 'function') return body(handle);
  if (typeof body === 'string' || Buffer.isBuffer(body)) return handle.writeFile(body, { signal });
  // A stalled body would not notice the abort between two chunks.
  if (signal !== undefined) addAbortSignal(signal, body);
  for await (const chunk of chunksOf(body)) await handle.appendFile(chunk);
}

/** Its natural path is taken by a folder, or a file stands where one of its folders would. */
const taken = new Set(['ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY']);
const triesMax = 5;

async function moveToKey(target: WriteTarget, temporary: string, key: string): Promise<void> {
  const natural = naturalNames(key);
  const spare = spareNames(key);
  try {
    if (natural !== null) {
      await moveTo(target, temporary, natural);
      await unlessMissing(() => unlink(join(target.root, ...spare)));
      return;
    }
  } catch (error) {
    if (!taken.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  await moveTo(target, temporary, spare);
}

async function moveTo(target: WriteTarget, temporary: string, names: readonly string[]): Promise<void> {
  await inFolder(target, names.slice(0, -1), (folder) => rename(temporary, join(folder, names.at(-1) ?? '')));
}

/** Does `work` in the folder of `names`, which is made when it is missing. */
async function inFolder<T>(
  target: WriteTarget,
  names: readonly string[],
  work: (folder: string) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(await makeFolder(target, names));
    } catch (error) {
      // The empty folder was removed in between.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === triesMax) throw error;
      for (let depth = 1; depth <= names.length; depth += 1)
        target.folders.forget(join(target.root, ...names.slice(0, depth)));
    }
  }
}

/** Makes the folder of `names`, following no link out of the store; its real path. */
async function makeFolder(target: WriteTarget, names: readonly string[]): Promise<string> {
  const { root, folders } = target;
  const found = await folders.find(root, names);
  if (found !== null) return inside(root, found);
  const path = join(await makeFolder(target, names.slice(0, -1)), names.at(-1) ?? '');
  try {
    await mkdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return inside(root, await realpath(path));
  }
  return folders.keep(join(root, ...names), path);
}

function inside(root: string, path: string): string {
  if (isInside(root, path)) return path;
  throw new KnownProblem('storage_error', 'The key leads out of the store.');
}

/** Removes the object of a key from both of its paths, and the folders that this leaves empty. */
export async function removeObject(root: string, key: string): Promise<void> {
  for (const names of [naturalNames(key), spareNames(key)]) {
    if (names === null) continue;
    const path = join(root, ...names);
    const folder = await unlessMissing(() => realpath(dirname(path)));
    if (folder === null || !isInside(root, folder)) continue;
    if (await removeFile(join(folder, names.at(-1) ?? ''))) await removeEmptyFolders(root, folder);
  }
}

async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    // EISDIR, or EPERM on other systems than Linux: a folder, so no object of this key.
    const { code } = error as NodeJS.ErrnoException;
    if (isMissing(error) || code === 'EISDIR' || code === 'EPERM') return false;
    throw error;
  }
}

async function removeEmptyFolders(root: string, folder: string): Promise<void> {
  for (let at = folder; at !== root && isInside(root, at); at = dirname(at)) {
    try {
      await rmdir(at);
    } catch {
      // Not empty, or in use by now: it may stay.
      return;
    }
  }
}

/** Temporary files older than this belong to no write that still runs. */
const temporaryAgeMs = 24 * 3_600_000;

/** Removes what crashed writes left. */
export async function removeOldTemporaries(root: string, now: number): Promise<void> {
  const folder = temporaryFolder(root);
  const names = (await unlessMissing(() => readdir(folder))) ?? [];
  for (const name of names) {
    const path = join(folder, name);
    const stats = await unlessMissing(() => stat(path));
    if (stats !== null && now - stats.mtimeMs > temporaryAgeMs) await unlessMissing(() => unlink(path));
  }
}
