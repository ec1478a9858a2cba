import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';

/**
 * Where the object of a key lies in a folder.
 *
 * Its **natural path** is the key itself: `videos/a.mp4` is `<dir>/videos/a.mp4`, so that any folder of files is a
 * store. Keys with an empty segment, with one over 255 bytes, or below `.reelwright/` have none. Others cannot take
 * theirs, since S3 lets both `a` and `a/b` be objects and a file system does not. Such an object lies at its **spare
 * path**, `<dir>/.reelwright/objects/<the key in hex, cut into names>`.
 *
 * Where an object is at both (its natural path became free between two writes), the natural one counts.
 */
const ownFolder = '.reelwright';
const nameBytesMax = 255;

/** Even, so that a name holds whole bytes. */
const hexLength = 200;
/** The last name of a spare path ends with it: folders have whole lengths of hex alone. */
const objectMark = '.o';

/** Temporary files of writes, on the same file system as the objects. */
export function temporaryFolder(dir: string): string {
  return join(dir, ownFolder, 'tmp');
}

export function spareFolder(dir: string): string {
  return join(dir, ownFolder, 'objects');
}

/** The names below the folder of the parts of objects that are being uploaded. */
export function partsFolderNames(id: string): string[] {
  return [ownFolder, 'uploads', id];
}

/** The names below the folder that make the natural path; null when the key has none. */
export function naturalNames(key: string): string[] | null {
  const names = key.split('/');
  const isNatural =
    names[0] !== ownFolder && names.every((name) => name !== '' && Buffer.byteLength(name) <= nameBytesMax);
  return isNatural ? names : null;
}

/** The names below the folder that make the spare path. */
export function spareNames(key: string): string[] {
  const names = Buffer.from(key)
    .toString('hex')
    .match(new RegExp(`.{1,${hexLength}}`, 'g'));
  if (names === null) throw new KnownProblem('storage_error', 'The key is not valid for an object.');
  return [ownFolder, 'objects', ...names.slice(0, -1), `${names.at(-1)}${objectMark}`];
}

/** The key of a spare path's names below `spareFolder`; null for a file that is no object. */
export function keyOfSpareNames(names: readonly string[]): string | null {
  const joined = names.join('');
  if (!joined.endsWith(objectMark)) return null;
  return Buffer.from(joined.slice(0, -objectMark.length), 'hex').toString('utf8');
}

/** Whether a name at the top of the folder is the store's own. */
export function isOwnName(name: string): boolean {
  return name === ownFolder;
}
