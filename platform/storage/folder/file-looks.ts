import { close, open, read } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ObjectInfo } from '../object-store.ts';
import { infoOf, isInside, openFile, readFlags, unlessMissing } from './file-info.ts';

// Looks at a file that leave it closed. They are made for every submission, and by plain descriptors cost half of what
// they do by FileHandles.

const descriptor = { open: promisify(open), read: promisify(read), close: promisify(close) };

/** The metadata of the file `name` in `folder`, as `openFile` has it. */
export async function findFile(root: string, folder: string, name: string, key: string): Promise<ObjectInfo | null> {
  const path = join(folder, name);
  const stats = isInside(root, path) ? await unlessMissing(() => lstat(path, { bigint: true })) : null;
  if (stats?.isSymbolicLink() !== true) return stats?.isFile() === true ? infoOf(key, stats) : null;
  const linked = await openFile(root, folder, name, key);
  await linked?.handle.close();
  return linked?.info ?? null;
}

/**
 * Up to `bytesMax` first bytes of the file `name` in `folder`, as `openFile` finds it; null when there is none, or when
 * they are to be read in another way: of a link, and of what is no file.
 */
export async function startOfFile(
  { root, folder, name }: { readonly root: string; readonly folder: string; readonly name: string },
  bytesMax: number,
): Promise<Buffer | null> {
  const path = join(folder, name);
  if (!isInside(root, path)) return null;
  const file = await descriptor.open(path, readFlags).catch(() => null);
  if (file === null) return null;
  try {
    const { bytesRead, buffer } = await descriptor.read(file, Buffer.allocUnsafe(bytesMax), 0, bytesMax, 0);
    // Of a named pipe nothing can be read either.
    return bytesRead === 0 ? null : buffer.subarray(0, bytesRead);
  } catch {
    return null;
  } finally {
    await descriptor.close(file);
  }
}
