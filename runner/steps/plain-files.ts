import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';

/*
 * Reads the output of `process`, which decoded untrusted bytes. A link there would make `publish` publish any file that
 * it can read, and it has credentials and the key; a pipe would make it wait for ever.
 */

/** Refuses a folder with anything below it that is neither a file nor a folder. */
export async function refuseLinks(folder: string): Promise<void> {
  const entries = [await lstat(folder), ...(await readdir(folder, { recursive: true, withFileTypes: true }))];
  if (entries.some((entry) => !entry.isFile() && !entry.isDirectory())) {
    throw new Error('the workspace contains an entry that is neither a file nor a folder');
  }
}

/** Opens a file for reading, and never what a link or a pipe in its place leads to. */
export async function openPlainFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error('the workspace contains an entry that is neither a file nor a folder');
}

/** The text of such a file. */
export async function readPlainFile(path: string): Promise<string> {
  await using file = await openPlainFile(path);
  return file.readFile('utf8');
}
