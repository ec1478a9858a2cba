import { imageFolder, videoFolder } from '#domain/media/object-keys.ts';

/** The two folders below which an attempt's objects lie, each with a slash at its end. */
export function revisionRoots(hash: string, rev: string): readonly string[] {
  return [videoFolder(hash, rev), imageFolder(hash, rev)];
}

/** The folder of a revision in which an object lies, if it lies in one. */
export function revisionRootOf(key: string): string {
  return `${key.split('/', 4).join('/')}/`;
}
