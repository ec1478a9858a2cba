import { createHash } from 'node:crypto';
import { masterPath } from './revision-layout.ts';

/**
 * Object keys of the media bucket (docs/media.md, "Objects").
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

/** The object of a video's revision at `path` (`domain/media/revision-layout.ts`). */
export function videoKey(hash: string, rev: string, path: string): string {
  return `${videoRoot(hash)}/${rev}/${path}`;
}

/** `images/<prefix>/<hash>/<rev>/<variant>.<format>`. */
export function imageKey(hash: string, rev: string, file: { variant: string; format: string }): string {
  return `images/${mediaPrefix(hash)}/${hash}/${rev}/${file.variant}.${file.format}`;
}

/** The top master playlist: public playback starts here, and writing it publishes a revision. */
export function masterKey(hash: string): string {
  return `${videoRoot(hash)}/${masterPath}`;
}

/** The folder of a job's working objects, removed once the job is final. */
export function workRoot(jobId: string): string {
  return `work/${jobId}`;
}

/** The result manifest of one attempt: the result of record (docs/architecture.md, "Formats"). */
export function resultManifestKey(jobId: string, attempt: number): string {
  return `${workRoot(jobId)}/${attempt}/result.json`;
}

/** Says that a job's source was split, and into what (`domain/runner/film.ts`). */
export function filmKey(jobId: string): string {
  return `${workRoot(jobId)}/film.json`;
}

/** The images of a `video:full` whose stream is a film, which other jobs have too. */
export function filmImagesKey(jobId: string): string {
  return `${workRoot(jobId)}/images.json`;
}

/**
 * The working objects of a film below its revision, which names all that decides the output: jobs and attempts that
 * would make the same film share them, so that none encodes a chunk that another has finished.
 */
export function filmRoot(rev: string): string {
  return `work/${rev}`;
}

/** The plan of a film. */
export function filmPlanKey(rev: string): string {
  return `${filmRoot(rev)}/plan.json`;
}

/** The part of the source that a chunk is decoded from. */
export function chunkSourceKey(rev: string, chunk: number): string {
  return `${chunkSourcesRoot(rev)}${chunk}.nut`;
}

/** The folder of the sources of a film's chunks, with a slash at its end. */
export function chunkSourcesRoot(rev: string): string {
  return `${filmRoot(rev)}/sources/`;
}

/** What a chunk, or the sound, came to: it is written last and only once, so a chunk with a record is finished. */
export function filmRecordKey(rev: string, part: number | 'audio'): string {
  return `${filmRecordsRoot(rev)}${part}.json`;
}

/** The folder of a film's records, with a slash at its end. */
export function filmRecordsRoot(rev: string): string {
  return `${filmRoot(rev)}/records/`;
}
