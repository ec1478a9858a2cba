import { createHash } from 'node:crypto';
import { revisionOfMaster } from './master-playlist.ts';
import { masterPath } from './revision-layout.ts';

/**
 * Object keys of the media bucket (docs/reference/media.md, "Objects"); `WORK_BUCKET` may hold those below `work/`.
 *
 * Every attempt writes under a revision of its own, so two attempts, or two jobs, never mix their bytes. Objects below
 * a revision never change; the only object of a media that changes is its top master playlist.
 */

/** The longest key that S3 accepts, in bytes of UTF-8. */
export const objectKeyBytesMax = 1024;

/** `<prefix>`: the first two hex characters of SHA-256(`hash`). */
export function mediaPrefix(hash: string): string {
  return createHash('sha256').update(hash).digest('hex').slice(0, 2);
}

/** The revision of one attempt: 16 hex characters, always the same for one attempt. */
export function revisionOf(jobId: string, attempt: number): string {
  return createHash('sha256').update(`${jobId}:${attempt}`).digest('hex').slice(0, 16);
}

/** `videos/<prefix>/<hash>`, without a slash at the end. */
export function videoRoot(hash: string): string {
  return `videos/${mediaPrefix(hash)}/${hash}`;
}

/** The first parts of a key: the folder of a media, by which one look at a key finds it among many. */
export function folderOf(key: string, parts: number): string {
  return key.split('/', parts).join('/');
}

/** The object of a video's revision at `path` (`domain/media/revision-layout.ts`). */
export function videoKey(hash: string, rev: string, path: string): string {
  return `${videoRoot(hash)}/${rev}/${path}`;
}

/** The folder of a revision's stream, cover and preview, with a slash at its end. */
export function videoFolder(hash: string, rev: string): string {
  return videoKey(hash, rev, '');
}

/** The folder of a revision's image variants, with a slash at its end. */
export function imageFolder(hash: string, rev: string): string {
  return `images/${mediaPrefix(hash)}/${hash}/${rev}/`;
}

/** `images/<prefix>/<hash>/<rev>/<variant>.<format>`. */
export function imageKey(hash: string, rev: string, file: { variant: string; format: string }): string {
  return `${imageFolder(hash, rev)}${file.variant}.${file.format}`;
}

/** The hash in the key of an object below one of the folders or roots above. */
export function hashOfKey(key: string): string {
  return key.split('/')[2] ?? '';
}

/** The top master playlist: public playback starts here, and writing it publishes a revision. */
export function masterKey(hash: string): string {
  return `${videoRoot(hash)}/${masterPath}`;
}

/** Whether a key is the top master playlist of a media. */
export function isTopMaster(key: string): boolean {
  return /^videos\/[0-9a-f]{2}\/[^/]+\/master\.m3u8$/.test(key);
}

/** Whether the key of a stream's object lies below a revision: such an object never changes. */
export function isBelowRevision(key: string): boolean {
  return /^videos\/[0-9a-f]{2}\/[^/]+\/[0-9a-f]{16}\//.test(key);
}

/** The revision that a media's master names now; null without a master. `read` gives the text of an object. */
export async function currentRevision(
  hash: string,
  read: (key: string) => Promise<string | null>,
): Promise<string | null> {
  const master = await read(masterKey(hash));
  return master === null ? null : revisionOfMaster(master);
}

/** Working objects: what units hand to each other, and result manifests. No player reads one. */
const workFolder = 'work/';

/** Whether the object of a key, or every object below a prefix, is a working object. */
export function isWorkKey(key: string): boolean {
  return key.startsWith(workFolder);
}

/** The folder of a job's working objects, removed once the job is final. */
export function workRoot(jobId: string): string {
  return `${workFolder}${jobId}`;
}

/** The result manifest of one attempt: the result of record (docs/architecture.md, "Formats"). */
export function resultManifestKey(jobId: string, attempt: number): string {
  return `${workRoot(jobId)}/${attempt}/result.json`;
}

/** Says that a job's source was split, and into what (`domain/work/split.ts`). */
export function splitKey(jobId: string): string {
  return `${workRoot(jobId)}/split.json`;
}

/** The images of a `video:full` whose source was split; other jobs may share its chunks and have other images. */
export function splitImagesKey(jobId: string): string {
  return `${workRoot(jobId)}/images.json`;
}

/**
 * The working objects of a chunked encode below its revision, which names all that decides the output: jobs and
 * attempts that would make the same stream share them, so that no chunk is encoded twice.
 */
export function chunkedRoot(rev: string): string {
  return `${workFolder}${rev}`;
}

/** The plan that every unit of a chunked encode reads. */
export function encodePlanKey(rev: string): string {
  return `${chunkedRoot(rev)}/plan.json`;
}

/** The cut of the source that a chunk is decoded from. */
export function chunkSourceKey(rev: string, chunk: number): string {
  return `${chunkedRoot(rev)}/sources/${chunk}.nut`;
}

/** The result of a chunk, or of the audio. It is written last and only once: a chunk with a result is finished. */
export function chunkResultKey(rev: string, chunk: number | 'audio'): string {
  return `${chunkResultsRoot(rev)}${chunk}.json`;
}

/** The folder of chunk results, with a slash at its end. */
export function chunkResultsRoot(rev: string): string {
  return `${chunkedRoot(rev)}/results/`;
}
