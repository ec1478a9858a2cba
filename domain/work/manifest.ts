import { createHash } from 'node:crypto';
import { z } from 'zod';
import { jobErrorSchema } from '../job-error.ts';
import { jobTypeNames, jobTypes } from '../job-types/index.ts';
import { objectKeySchema } from '../job-types/shared-results.ts';
import { parseJson } from '../parse-json.ts';
import { toolVersionPattern } from './tool-version.ts';

/*
 * The result manifest (`work/<job_id>/<attempt>/result.json`): the outcome of an attempt, and every object that it
 * wrote. A runner writes it last, and it alone counts: pod, Job and controller may be lost before anyone looks.
 *
 * Objects are grouped by folder, with one digest each, and segments are a list of sizes: twelve hours in many tracks
 * are 300,000 segments.
 */

const sizeSchema = z.int().nonnegative();
const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** An object as it is stored; `size` in bytes, `sha256` in hex. */
export const manifestObjectSchema = z.object({ key: objectKeySchema, size: sizeSchema, sha256: digestSchema });
export type ManifestObject = z.infer<typeof manifestObjectSchema>;

/** The most objects of one attempt: twelve hours of segments in 60 tracks. */
export const manifestObjectsMax = 500_000;

const segmentExtensions = ['m4s', 'vtt'] as const;
const folderSchema = z.strictObject({
  /** The key of each object without its name, with a slash at its end. */
  folder: objectKeySchema,
  /** The name and the size in bytes of every other object. */
  files: z.array(z.tuple([objectKeySchema, sizeSchema])).max(10_000),
  /** Sizes in bytes of `seg_1`, `seg_2`, … */
  segments: z
    .strictObject({ extension: z.enum(segmentExtensions), sizes: z.array(sizeSchema).max(100_000) })
    .nullable(),
  /** See `objectsDigest`. */
  sha256: digestSchema,
});
export type ManifestFolder = z.infer<typeof folderSchema>;

const outcomeShape = z.object({
  job_id: z.uuid(),
  attempt: z.int().positive(),
  type: z.enum(jobTypeNames),
  hash: z.string().max(128),
  rev: z.string().regex(/^[0-9a-f]{16}$/),
  status: z.enum(['completed', 'failed']),
  results: z.unknown(),
  error: jobErrorSchema.nullable(),
  /** The version of the runner that wrote it. */
  tool_version: z.string().max(64).regex(toolVersionPattern),
});
/** The document of a result manifest. */
export const manifestShape = outcomeShape.extend({ v: z.literal(2), folders: z.array(folderSchema).max(1_000) });

/** A result manifest, with the key and size of every object. */
export type ResultManifest = z.infer<typeof outcomeShape> & {
  readonly objects: readonly { readonly key: string; readonly size: number }[];
};

/**
 * Reads a result manifest; a completed one has results of its type's shape.
 *
 * @throws ZodError, SyntaxError, TypeError
 */
export function parseManifest(json: string): ResultManifest {
  const manifest = manifestShape.parse(parseJson(json));
  const results: unknown = manifest.results === null ? null : jobTypes[manifest.type].results.parse(manifest.results);
  if (manifest.status === 'completed' && results === null) throw new TypeError('a completed manifest needs results');
  if (manifest.status === 'failed' && manifest.error === null) throw new TypeError('a failed manifest needs an error');
  return { ...outcomeShape.parse(manifest), results, objects: objectsIn(manifest.folders) };
}

/** The document of a result manifest. */
export function manifestJson(outcome: Omit<ResultManifest, 'objects'>, objects: readonly ManifestObject[]): string {
  return JSON.stringify({ v: 2, ...outcome, folders: foldersOf(objects) });
}

/** Groups objects by folder. */
export function foldersOf(objects: readonly ManifestObject[]): ManifestFolder[] {
  const byFolder = Map.groupBy(objects, ({ key }) => key.slice(0, key.lastIndexOf('/') + 1));
  return [...byFolder].map(([folder, inFolder]) => {
    const named = inFolder.map((object) => ({ ...object, name: object.key.slice(folder.length) }));
    const segments = segmentsOf(new Map(named.map(({ name, size }) => [name, size])));
    const isListed = (name: string) => segments !== null && name.endsWith(`.${segments.extension}`);
    const files = named.flatMap(({ name, size }): [string, number][] => (isListed(name) ? [] : [[name, size]]));
    return { folder, files, segments, sha256: objectsDigest(named) };
  });
}

/** The sizes of segments 1 to n; null where a folder has none, or others beside them. */
function segmentsOf(sizes: ReadonlyMap<string, number>): ManifestFolder['segments'] {
  const extension = segmentExtensions.find((each) => sizes.has(`seg_1.${each}`));
  if (extension === undefined) return null;
  const list: number[] = [];
  for (let size = sizes.get(`seg_1.${extension}`); size !== undefined;) {
    list.push(size);
    size = sizes.get(`seg_${list.length + 1}.${extension}`);
  }
  const isWhole = [...sizes.keys()].filter((name) => name.endsWith(`.${extension}`)).length === list.length;
  return isWhole ? { extension, sizes: list } : null;
}

/** SHA-256 (hex) over a line `<name> <size> <sha256>` for each object, in the order of their names. */
function objectsDigest(
  named: readonly { readonly name: string; readonly size: number; readonly sha256: string }[],
): string {
  const digest = createHash('sha256');
  for (const { name, size, sha256 } of named.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    digest.update(`${name} ${size} ${sha256}\n`);
  return digest.digest('hex');
}

/** @throws TypeError for more objects than an attempt has: a segment is two bytes of JSON, and in memory 200 */
function objectsIn(folders: readonly ManifestFolder[]): ResultManifest['objects'] {
  const count = folders.reduce((sum, { files, segments }) => sum + files.length + (segments?.sizes.length ?? 0), 0);
  if (count > manifestObjectsMax) throw new TypeError(`expected at most ${manifestObjectsMax} objects, found ${count}`);
  return folders.flatMap(({ folder, files, segments }) => [
    ...files.map(([name, size]) => ({ key: `${folder}${name}`, size })),
    ...(segments?.sizes ?? []).map((size, index) => ({
      key: `${folder}seg_${index + 1}.${segments?.extension}`,
      size,
    })),
  ]);
}
