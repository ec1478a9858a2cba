import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { digestDocuments } from '#domain/work/object-digests.ts';
import { chunkedRoot, masterKey, resultManifestKey } from '#domain/media/object-keys.ts';
import { foldersOf, manifestShape } from '#domain/work/manifest.ts';
import { parseChunkResult } from '#domain/work/split.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { CheckedJob } from './row-invariants.ts';

// What holds of objects (docs/reference/invariants.md).

export async function bytesAt(media: ObjectStore, key: string): Promise<Buffer | null> {
  const object = await media.get(key);
  return object === null ? null : buffer(object.body);
}

export async function textAt(media: ObjectStore, key: string): Promise<string | null> {
  return (await bytesAt(media, key))?.toString('utf8') ?? null;
}

export async function keysBelow(media: ObjectStore, prefix: string): Promise<string[]> {
  return (await Array.fromAsync(media.list(prefix))).map(({ key }) => key);
}

/** Every object that the results name is there and is not empty. */
export async function objectsOf(job: CheckedJob, media: ObjectStore): Promise<string[]> {
  if (job.status !== 'completed' || job.is_expired) return [];
  const keys = [...new Set(job.results_text?.match(/(videos|images)\/[^"]+/g) ?? [])];
  if (keys.length === 0) return [`I4: the results of ${job.id} name no object`];
  const found = await Promise.all(keys.map(async (key) => ({ key, info: await media.head(key) })));
  return found
    .filter(({ info }) => info === null || info.sizeBytes === 0)
    .map(({ key }) => `I4: the results of ${job.id} name ${key}, which is not there`);
}

/** The objects of the manifest that counted are as it states them. */
export async function manifestOf({ id, attempt, status, is_expired }: CheckedJob, media: ObjectStore) {
  const json = await textAt(media, resultManifestKey(id, attempt));
  if (json === null || status !== 'completed' || is_expired) return [];
  const manifest = manifestShape.parse(JSON.parse(json));
  const names = manifest.folders.flatMap(({ folder, files, segments }) => [
    ...files.map(([name]) => folder + name),
    ...(segments?.sizes ?? []).map((_, index) => `${folder}seg_${index + 1}.${segments?.extension}`),
  ]);
  const stored = [];
  for (const key of names) {
    const bytes = await bytesAt(media, key);
    if (bytes === null) return [`I14: the manifest of ${id} names ${key}, which is not there`];
    stored.push({ key, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  const folders = new Map(foldersOf(stored).map((folder) => [folder.folder, folder.sha256]));
  const violations = manifest.folders
    .filter(({ folder, sha256 }) => folders.get(folder) !== sha256)
    .map(({ folder }) => `I14: objects below ${folder} differ from the manifest of ${id}`);
  for (const { key, text } of digestDocuments(stored))
    if ((await textAt(media, key)) !== text) violations.push(`I14: ${key} has other digests than the objects of ${id}`);
  return violations;
}

/** The keys that a master leads to, and what is missing among them. */
export async function reachable(hash: string, media: ObjectStore) {
  const playlists = new Map<string, string>();
  const missing: string[] = [];
  const seen = new Set<string>();
  const visit = async (key: string, from: string): Promise<void> => {
    if (seen.has(key)) return;
    seen.add(key);
    if (!key.endsWith('.m3u8')) {
      const info = await media.head(key);
      if ((info?.sizeBytes ?? 0) === 0) missing.push(`${from} names ${key}, which is not there`);
      return;
    }
    const text = await textAt(media, key);
    if (text === null || text === '') return void missing.push(`${from} names ${key}, which is not there`);
    playlists.set(key, text);
    if (text.includes('#EXTINF') && !text.includes('#EXT-X-ENDLIST')) missing.push(`${key} has no end`);
    const segments = [...text.matchAll(/^\S*seg_(\d+)\.\w+$/gm)].map((match) => Number(match[1]));
    if (!key.includes('iframe') && segments.some((segment, index) => segment !== index + 1))
      missing.push(`${key} names the segments ${segments.join(', ')}`);
    for (const target of targetsOf(text)) await visit(posix.join(posix.dirname(key), target), key);
  };
  const master = await textAt(media, masterKey(hash));
  if (master !== null) await visit(masterKey(hash), 'the address of the stream');
  return { master, keys: seen, playlists, missing };
}

/** Relative addresses of a playlist, but the addresses of keys. */
function targetsOf(playlist: string): string[] {
  const uris = playlist.split('\n').flatMap((line) => {
    if (line.trim() === '' || /^#EXT-X-(SESSION-)?KEY/.test(line)) return [];
    if (!line.startsWith('#')) return [line.trim()];
    const uri = /URI="([^"]+)"/.exec(line)?.[1];
    return uri === undefined ? [] : [uri];
  });
  return uris.filter((uri) => !/^[a-z]+:/.test(uri)).map((uri) => uri.replace(/\?.*$/, ''));
}

/** Checks that of the jobs of a hash, the last that was submitted and has a stream is the one that is played. */
export function masterNames(master: string | null, jobs: readonly CheckedJob[]): string[] {
  const newest = jobs.findLast((job) => job.stream_rev !== null);
  if (newest === undefined || newest.is_expired) return [];
  const named = master === null ? null : revisionOfMaster(master);
  return named === newest.stream_rev ? [] : [`I26: the master of ${newest.hash} names ${named}, not ${newest.id}'s`];
}

/** A chunk's result names the segments that the plan of its revision has for it, and no others. */
export async function chunksOf(hash: string, rev: string, media: ObjectStore): Promise<string[]> {
  const root = chunkedRoot(rev);
  const plan = await textAt(media, `${root}/plan.json`);
  if (plan === null) return [];
  const { chunks } = JSON.parse(plan) as { readonly chunks: readonly { readonly firstSegment: number }[] };
  const violations: string[] = [];
  for (const [index, { firstSegment }] of chunks.entries()) {
    const json = await textAt(media, `${root}/results/${index}.json`);
    if (json === null) continue;
    const next = chunks[index + 1]?.firstSegment ?? Infinity;
    for (const { key } of parseChunkResult(json).objects) {
      const segment = Number(/seg_(\d+)\.m4s$/.exec(key)?.[1] ?? firstSegment);
      const isOfPlan = segment >= firstSegment && segment < next && key.includes(`/${hash}/${rev}/`);
      if (!isOfPlan) violations.push(`I25: the result of chunk ${index} of ${rev} names ${key}`);
    }
  }
  return violations;
}

/** The rows of a hash and its master name every revision that is stored, once all of them are cleaned up. */
export async function leftOf(hash: string, jobs: readonly CheckedJob[], given: LeftInput): Promise<string[]> {
  const { media, master, mayStay } = given;
  if (jobs.some((job) => !job.is_swept)) return [];
  const text = jobs.map((job) => job.results_text ?? '').join(' ');
  const revs = new Set<string>();
  for (const root of ['videos', 'images'])
    for (const key of await keysBelow(media, `${root}/${masterKey(hash).split('/')[1]}/${hash}/`))
      revs.add(/\/([0-9a-f]{16})\//.exec(key)?.[1] ?? '');
  return [...revs]
    .filter((rev) => rev !== '' && !text.includes(rev) && master?.includes(rev) !== true && !mayStay.has(rev))
    .map((rev) => `I19: no job names the revision ${rev} of ${hash}`);
}

interface LeftInput {
  readonly media: ObjectStore;
  readonly master: string | null;
  /** Revisions of attempts that wrote a manifest: a player may know them. */
  readonly mayStay: ReadonlySet<string>;
}
