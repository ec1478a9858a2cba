import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ObjectInfo } from '../object-store.ts';

/** An object's file, open for reading. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly info: ObjectInfo;
}

/** Whether the real path `path` is `root` or below it. */
export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

const missingCodes = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO']);

/** Whether an error of the file system means that nothing exists at a path. */
export function isMissing(error: unknown): boolean {
  return missingCodes.has((error as NodeJS.ErrnoException).code ?? '');
}

/** The result of `work`, or null when it fails because nothing exists at a path. */
export async function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * Opens the file `name` in `folder`; null when there is none or a symbolic link leads out of `root`. Both are real
 * paths.
 */
export async function openFile(root: string, folder: string, name: string, key: string): Promise<OpenFile | null> {
  return unlessMissing(async () => {
    const handle = await openInside(root, join(folder, name));
    try {
      const stats = await handle?.stat({ bigint: true });
      if (handle !== null && stats?.isFile() === true) return { handle, info: infoOf(key, stats) };
    } catch (error) {
      await handle?.close();
      throw error;
    }
    await handle?.close();
    return null;
  });
}

// NONBLOCK: opening a named pipe must not wait for a writer.
export const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function openInside(root: string, path: string): Promise<FileHandle | null> {
  if (!isInside(root, path)) return null;
  try {
    return await open(path, readFlags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
    const real = await realpath(path);
    return isInside(root, real) ? open(real, readFlags) : null;
  }
}

/**
 * The metadata of an object from its file's status. The ETag changes whenever the bytes do: every write makes a new
 * file (another inode, a modification time of its own), and an edit in place moves the modification time.
 */
export function infoOf(key: string, stats: BigIntStats): ObjectInfo {
  const parts = [stats.size, stats.mtimeNs, stats.ino].map((part) => part.toString(16));
  return {
    key,
    sizeBytes: Number(stats.size),
    etag: `"${parts.join('-')}"`,
    lastModified: new Date(Number(stats.mtimeMs)),
  };
}
