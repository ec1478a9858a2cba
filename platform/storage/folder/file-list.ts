import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { infoOf, isInside, unlessMissing } from './file-info.ts';
import { isOwnName, keyOfSpareNames, naturalNames, spareFolder } from './file-paths.ts';
import { compareKeys } from '../keys.ts';
import type { ObjectInfo } from '../object-store.ts';

/** A file or folder on the way, symbolic links inside of the root followed. */
interface Entry {
  readonly name: string;
  /** Its real path. */
  readonly path: string;
  readonly isFolder: boolean;
}

/** The objects of the folder `root` (a real path) whose keys begin with `prefix`, in the order of their keys. */
export async function* listFiles(root: string, prefix: string): AsyncGenerator<ObjectInfo> {
  const spares = await listSpares(root, prefix);
  for await (const info of listNaturals(root, prefix)) {
    while (spares[0] !== undefined && compareKeys(spares[0].key, info.key) < 0) yield spares.shift()!;
    // Written again at its natural path since.
    if (spares[0]?.key === info.key) spares.shift();
    yield info;
  }
  yield* spares;
}

async function* listNaturals(root: string, prefix: string): AsyncGenerator<ObjectInfo> {
  const folderKey = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  const names = folderKey.split('/').slice(0, -1);
  if (names.some((name) => name === '' || name === '.' || name === '..')) return;
  const path = await unlessMissing(() => realpath(join(root, ...names)));
  if (path === null || !isInside(root, path)) return;
  yield* walk({ root, path, folderKey, prefix, above: [] });
}

interface Walk {
  readonly root: string;
  /** The folder's real path. */
  readonly path: string;
  /** `''` or what the keys of its objects begin with, ending with `/`. */
  readonly folderKey: string;
  readonly prefix: string;
  /** The real paths of the folders above: a link to one of them would go round for ever. */
  readonly above: readonly string[];
}

async function* walk({ root, path, folderKey, prefix, above }: Walk): AsyncGenerator<ObjectInfo> {
  if (above.includes(path)) return;
  for (const entry of await sortedEntries(root, path, folderKey === '')) {
    const key = `${folderKey}${entry.name}`;
    if (entry.isFolder) {
      const inner = `${key}/`;
      if (!inner.startsWith(prefix) && !prefix.startsWith(inner)) continue;
      yield* walk({ root, path: entry.path, folderKey: inner, prefix, above: [...above, path] });
    } else if (key.startsWith(prefix) && naturalNames(key) !== null) {
      const stats = await unlessMissing(() => stat(entry.path, { bigint: true }));
      if (stats?.isFile() === true) yield infoOf(key, stats);
    }
  }
}

/** Sorted so that walking them in order meets the keys in order: a folder's keys go on with a slash. */
async function sortedEntries(root: string, path: string, isTop: boolean): Promise<Entry[]> {
  const found = (await unlessMissing(() => readdir(path, { withFileTypes: true }))) ?? [];
  const wanted = found.filter(({ name }) => !(isTop && isOwnName(name)));
  const entries = await Promise.all(wanted.map((entry) => resolveEntry(root, path, entry)));
  return entries
    .filter((entry) => entry !== null)
    .map((entry) => ({ entry, order: Buffer.from(entry.isFolder ? `${entry.name}/` : entry.name) }))
    .toSorted((a, b) => Buffer.compare(a.order, b.order))
    .map(({ entry }) => entry);
}

/** Null for what is neither file nor folder, and for links that lead out of the root or nowhere. */
async function resolveEntry(root: string, folder: string, entry: Dirent): Promise<Entry | null> {
  const path = join(folder, entry.name);
  if (entry.isFile()) return { name: entry.name, path, isFolder: false };
  if (entry.isDirectory()) return { name: entry.name, path, isFolder: true };
  if (!entry.isSymbolicLink()) return null;
  return unlessMissing(async () => {
    const real = await realpath(path);
    if (!isInside(root, real)) return null;
    const stats = await stat(real);
    if (!stats.isFile() && !stats.isDirectory()) return null;
    return { name: entry.name, path: real, isFolder: stats.isDirectory() };
  });
}

/** The objects at spare paths: few, so they are sorted in memory. */
async function listSpares(root: string, prefix: string): Promise<ObjectInfo[]> {
  const top = spareFolder(root);
  const found = await unlessMissing(() => readdir(top, { withFileTypes: true, recursive: true }));
  const infos: ObjectInfo[] = [];
  for (const entry of found ?? []) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const key = keyOfSpareNames(path.slice(top.length + 1).split('/'));
    if (key === null || !key.startsWith(prefix)) continue;
    const stats = await unlessMissing(() => stat(path, { bigint: true }));
    if (stats !== null) infos.push(infoOf(key, stats));
  }
  return infos.toSorted((a, b) => compareKeys(a.key, b.key));
}
