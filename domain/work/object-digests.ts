import type { ManifestObject } from './manifest.ts';

/*
 * `SHA256SUMS`: the digests of a revision's objects, in the form of sha256sum(1), sorted by name. The runner writes one
 * in each folder of a revision, before the result manifest, since working objects are removed and a listing of a bucket
 * has no digest (docs/decisions/0306-digests-are-an-object-of-the-revision.md). No player reads one.
 */

const digestsName = 'SHA256SUMS';

/** The folder of a revision in which an object lies, with a slash at its end; null for an object outside of one. */
export function revisionFolderOf(key: string): string | null {
  return /^(?:videos|images)\/[0-9a-f]{2}\/[^/]+\/[0-9a-f]{16}\//.exec(key)?.[0] ?? null;
}

/** The object that has the digests of a revision's folder. */
export function digestsKey(revisionFolder: string): string {
  return revisionFolder + digestsName;
}

/** Objects, and the documents that have their digests. */
export function withDigestKeys(keys: Iterable<string>): ReadonlySet<string> {
  return new Set(
    [...keys].flatMap((key) => {
      const folder = revisionFolderOf(key);
      return folder === null ? [key] : [key, digestsKey(folder)];
    }),
  );
}

/** The documents for objects of one or more revisions: key and text of each. */
export function digestDocuments(objects: readonly ManifestObject[]): { readonly key: string; readonly text: string }[] {
  const byFolder = Map.groupBy(objects, ({ key }) => revisionFolderOf(key) ?? '');
  byFolder.delete('');
  return [...byFolder].map(([folder, inFolder]) => {
    const lines = inFolder
      .map(({ key, sha256 }) => ({ name: key.slice(folder.length), sha256 }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, sha256 }) => `${sha256}  ${name}\n`);
    return { key: digestsKey(folder), text: lines.join('') };
  });
}

/** A line without its end; null for another. */
export function parseDigestLine(line: string): { readonly name: string; readonly sha256: string } | null {
  const [, sha256, name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
  return sha256 === undefined || name === undefined ? null : { name, sha256 };
}
