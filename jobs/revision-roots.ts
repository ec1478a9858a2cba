import { mediaPrefix, videoRoot } from '#domain/media/object-keys.ts';

/** The two folders below which an attempt's objects lie, each with a slash at its end. */
export function revisionRoots(hash: string, rev: string): readonly string[] {
  return [`${videoRoot(hash)}/${rev}/`, `images/${mediaPrefix(hash)}/${hash}/${rev}/`];
}
