import { text } from 'node:stream/consumers';
import { type JobResults, jobTypes } from '#domain/job-types/index.ts';
import { type JobError, jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { topMasterOf } from '#domain/media/master-playlist.ts';
import { masterKey, resultManifestKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { parseManifest, type ResultManifest } from '#domain/runner/manifest.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { revisionRoots } from './revision-roots.ts';

/**
 * Completion: what an attempt left in the bucket becomes the job's end.
 *
 * Read the result manifest, verify that every object it names is there and whole, write the top master playlist, and
 * then, in one transaction, record status, results and webhook event. Everything before that transaction can be
 * repeated, by this process or another, and comes to the same: a crash leaves a running job whose attempt is completed
 * again. The transaction is guarded by the attempt, so an attempt that is no longer the job's records nothing.
 */
export interface CompletionDependencies {
  readonly jobs: Pick<JobStore, 'finish'>;
  readonly media: ObjectStore;
  readonly clock: () => Date;
  readonly randomUuid: () => string;
}

export type Completion =
  | { readonly outcome: 'recorded'; readonly job: Job }
  /** The job is final already, or at another attempt. */
  | { readonly outcome: 'not_current' }
  /** The attempt ended well by its own account, but what it left is not whole. */
  | { readonly outcome: 'not_whole'; readonly reason: string };

interface AttemptToComplete {
  readonly job: Job;
  /** The attempt that the job is at: what is recorded is recorded for it. */
  readonly attempt: number;
  /** The attempt whose manifest counts; the same unless told. */
  readonly manifestOf?: number;
  readonly signal?: AbortSignal;
}

/** @throws KnownProblem `storage_error`, or an error of the database: try again */
export async function completeAttempt(
  { job, attempt, manifestOf = attempt, signal }: AttemptToComplete,
  d: CompletionDependencies,
): Promise<Completion> {
  const read = await readManifest({ job, attempt: manifestOf }, d.media, signal);
  if ('reason' in read) return { outcome: 'not_whole', reason: read.reason };
  const { manifest } = read;
  const missing = await firstNotWhole(manifest, d.media, signal);
  if (missing !== null) return { outcome: 'not_whole', reason: missing };
  const published = await publishTopMaster(manifest, d.media, signal);
  if (published !== null) return { outcome: 'not_whole', reason: published };
  const error = manifest.error ?? jobErrorOf('internal', manifestOf);
  return recordEnd(
    {
      job,
      attempt,
      results: manifest.results as JobResults | null,
      error: manifest.status === 'completed' ? null : { ...error, attempt: manifestOf },
    },
    d,
  );
}

/** How many attempts back are looked at; more workers than this do not end between a manifest and its recording. */
const attemptsBackMax = 3;

/**
 * Completes a job by what an earlier attempt left, if one came to its end and nobody recorded it: its worker vanished
 * in between. Null: there is no such attempt, and the work is to be done.
 */
export async function completeByEarlierAttempt(job: Job, d: CompletionDependencies): Promise<Completion | null> {
  const oldest = Math.max(1, job.attempt - attemptsBackMax);
  for (let manifestOf = job.attempt - 1; manifestOf >= oldest; manifestOf--) {
    const completion = await completeAttempt({ job, attempt: job.attempt, manifestOf }, d);
    if (completion.outcome !== 'not_whole') return completion;
  }
  return null;
}

interface End {
  readonly job: Job;
  readonly attempt: number;
  readonly results: JobResults | null;
  /** Null: completed. */
  readonly error: JobError | null;
}

/** The transaction that ends a job: status, results or error, and the webhook event. */
export async function recordEnd(
  { job, attempt, results, error }: End,
  { jobs, clock, randomUuid }: Pick<CompletionDependencies, 'jobs' | 'clock' | 'randomUuid'>,
): Promise<Exclude<Completion, { outcome: 'not_whole' }>> {
  const recorded = await jobs.finish({
    jobId: job.id,
    attempt,
    status: error === null ? 'completed' : error.code === 'cancelled' ? 'cancelled' : 'failed',
    results,
    error,
    ...(error === null ? { progress: jobTypes[job.type].completedProgress } : {}),
    eventId: randomUuid(),
    now: clock(),
  });
  return recorded === null ? { outcome: 'not_current' } : { outcome: 'recorded', job: recorded };
}

/** A manifest is a few hundred kilobytes at most: 12 hours of segments in eight renditions, 200 bytes a segment. */
const manifestBytesMax = 64 * 1024 * 1024;

async function readManifest(
  { job, attempt }: { job: Job; attempt: number },
  media: ObjectStore,
  signal?: AbortSignal,
): Promise<{ manifest: ResultManifest } | { reason: string }> {
  const json = await readText(media, { key: resultManifestKey(job.id, attempt), bytesMax: manifestBytesMax, signal });
  if (json === null) return { reason: 'the attempt left no result manifest' };
  let manifest: ResultManifest;
  try {
    manifest = parseManifest(json);
  } catch (error) {
    return { reason: `the result manifest is not valid: ${error instanceof Error ? error.name : 'unknown'}` };
  }
  const isOurs =
    manifest.job_id === job.id &&
    manifest.attempt === attempt &&
    manifest.type === job.type &&
    manifest.hash === job.hash &&
    manifest.rev === revisionOf(job.id, attempt);
  return isOurs ? { manifest } : { reason: 'the result manifest is of another attempt' };
}

/** As many questions to the bucket at a time; a full ladder of a long video is thousands of objects. */
const headsAtOnce = 16;

/** What is wrong with the objects of a manifest; null when all are there, whole, and below the attempt's revision. */
async function firstNotWhole(
  manifest: ResultManifest,
  media: ObjectStore,
  signal?: AbortSignal,
): Promise<string | null> {
  const { hash, rev } = manifest;
  const roots = revisionRoots(hash, rev);
  const strange = manifest.objects.find(({ key }) => !roots.some((root) => key.startsWith(root)));
  if (strange !== undefined) return 'the result manifest names an object outside its revision';
  const waiting = [...manifest.objects];
  let problem: string | null = null;
  const look = async () => {
    for (let object = waiting.pop(); object !== undefined && problem === null; object = waiting.pop()) {
      const found = await media.head(object.key, signal);
      if (found === null) problem = `${object.key} is not there`;
      else if (found.sizeBytes !== object.size)
        problem = `${object.key} has ${found.sizeBytes} bytes, not ${object.size}`;
    }
  };
  await Promise.all(Array.from({ length: headsAtOnce }, look));
  return problem;
}

const playlistBytesMax = 1024 * 1024;

/**
 * Publishes a revision that has a stream, in one atomic step: the top master playlist, whose URIs lead into the
 * revision. Returns what is wrong, or null.
 */
async function publishTopMaster(
  manifest: ResultManifest,
  media: ObjectStore,
  signal?: AbortSignal,
): Promise<string | null> {
  const results = manifest.results as { streaming?: { master_playlist: string } } | null;
  if (results?.streaming === undefined) return null;
  const key = masterKey(manifest.hash);
  if (results.streaming.master_playlist !== key) return 'the results name another master playlist';
  const revisionKey = videoKey(manifest.hash, manifest.rev, 'master.m3u8');
  if (!manifest.objects.some((object) => object.key === revisionKey)) return 'the revision has no master playlist';
  const revisionMaster = await readText(media, { key: revisionKey, bytesMax: playlistBytesMax, signal });
  if (revisionMaster === null) return `${revisionKey} is not there`;
  const contentType = storedContentType(key);
  await media.put(key, topMasterOf(revisionMaster, manifest.rev), { contentType, ...(signal ? { signal } : {}) });
  return null;
}

/** A whole object as text; null when it is not there. @throws Error when it is larger than `bytesMax` */
async function readText(
  store: ObjectStore,
  { key, bytesMax, signal }: { key: string; bytesMax: number; signal?: AbortSignal | undefined },
): Promise<string | null> {
  const object = await store.get(key, signal ? { signal } : {});
  if (object === null) return null;
  if (object.info.sizeBytes > bytesMax) {
    object.body.destroy();
    throw new Error(`${key} has ${object.info.sizeBytes} bytes, more than ${bytesMax}`);
  }
  return text(object.body);
}
