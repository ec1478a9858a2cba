import type { ShownJob } from '#domain/jobs/job.ts';
import { mainObjectOf } from '#domain/job-types/main-object.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

// What is asked of the buckets about a job when a caller wants to know it. A bucket that does not answer within a
// second leaves the answer out, and fails no request.

const answerTimeoutMs = 1000;

/**
 * Whether the source in the bucket is another one than the job was made of. Null: it is not there, or the job's type
 * measures none. Undefined: the storage does not answer.
 */
export async function isSourceChanged(
  source: Pick<ObjectStore, 'head'>,
  job: Pick<ShownJob, 'source' | 'sourceEtag'>,
): Promise<boolean | null | undefined> {
  if (job.sourceEtag === null) return null;
  const etag = await etagOf(source, job.source);
  return etag === undefined || etag === null ? etag : etag !== job.sourceEtag;
}

/** Whether the main object of the job's results is deleted; undefined without results, or without an answer. */
export async function areResultsMissing(
  media: Pick<ObjectStore, 'head'>,
  job: Pick<ShownJob, 'hash' | 'results'>,
): Promise<boolean | undefined> {
  const key = mainObjectOf(job.hash, job.results);
  if (key === null) return undefined;
  const etag = await etagOf(media, key);
  return etag === undefined ? undefined : etag === null;
}

/** Null: there is no such object. Undefined: no answer. */
export async function etagOf(store: Pick<ObjectStore, 'head'>, key: string): Promise<string | null | undefined> {
  try {
    return (await store.head(key, AbortSignal.timeout(answerTimeoutMs), { attemptsMax: 1 }))?.etag ?? null;
  } catch {
    return undefined;
  }
}
