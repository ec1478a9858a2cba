import { isJobProblem } from '#domain/errors.ts';
import { type JobResults, jobTypes } from '#domain/job-types/index.ts';
import { type JobError, jobErrorOf, toJobError } from '#domain/job-error.ts';
import type { Job, ShownJob } from '#domain/jobs/job.ts';
import { topMasterOf } from '#domain/media/master-playlist.ts';
import { masterKey, resultManifestKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { masterPath } from '#domain/media/revision-layout.ts';
import { parseManifest, type ResultManifest } from '#domain/work/manifest.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import type { FinalState, JobStore } from '#platform/postgres/job-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { listWithin, readText } from '#platform/storage/bounded-reads.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { readSplit } from './next-units.ts';
import { revisionRootOf, revisionRoots } from './revision-roots.ts';
import { putTopMaster } from './top-master.ts';

/**
 * Completion: the output of an attempt becomes the end of its job.
 *
 * Read the result manifest and verify by listing that every object it names is there and whole, below the revision of
 * the attempt or of its chunked encode. Then, in one transaction that locks the job's row and finds this attempt
 * current, write the top master playlist and record status, results and webhook event. An attempt that is not current
 * publishes and records nothing. A crash before the commit leaves a running job whose attempt is completed again, with
 * the same playlist.
 */
export interface CompletionDependencies {
  readonly jobs: Pick<JobStore, 'finish'>;
  readonly media: ObjectStore;
  readonly metrics: Pick<Metrics, 'jobFailures'>;
  readonly randomUuid: () => string;
}

export type Completion =
  | { readonly outcome: 'recorded'; readonly job: ShownJob }
  /** The job is final already, or at another attempt. */
  | { readonly outcome: 'not_current' }
  /** The attempt reported success, but its output cannot be used; a permanent `error` would meet every attempt. */
  | { readonly outcome: 'not_whole'; readonly reason: string; readonly error: JobError };

interface AttemptToComplete {
  readonly job: Job;
  /** The current attempt of the job, for which the end is recorded. */
  readonly attempt: number;
  /** The attempt whose manifest counts; by default the same. */
  readonly manifestOf?: number;
  readonly signal?: AbortSignal;
  /** The units that the attempt ran. */
  readonly units?: readonly UnitRun[];
  /** Whether another attempt follows one that failed by this error; by default none does. */
  readonly isRepeated?: (error: JobError) => Promise<boolean>;
}

/** @throws KnownProblem `storage_error`, or an error of the database: try again */
export async function completeAttempt(
  { job, attempt, manifestOf = attempt, signal, units, isRepeated }: AttemptToComplete,
  dependencies: CompletionDependencies,
): Promise<Completion> {
  const { media } = dependencies;
  let output: Output | { readonly reason: string };
  try {
    output = await readOutput({ job, attempt: manifestOf }, media, signal);
  } catch (thrown) {
    // Larger than any output may be: another attempt would make the same.
    if (!isJobProblem(thrown) || thrown.code !== 'limit_exceeded') throw thrown;
    return { outcome: 'not_whole', reason: thrown.message, error: toJobError(thrown, manifestOf) };
  }
  if ('reason' in output) return { outcome: 'not_whole', ...output, error: jobErrorOf('storage_error', manifestOf) };
  const { manifest, topMaster } = output;
  const error = errorOf(manifest);
  // The images of a chunked encode are made once, so that another attempt would find their errors again.
  const isOfAttempt = manifest.rev === revisionOf(job.id, manifestOf);
  if (error?.retryable === true && isOfAttempt && (await isRepeated?.(error)) === true)
    return { outcome: 'not_whole', reason: `it failed by ${error.code}, which need not last`, error };
  return recordEnd(
    {
      job,
      attempt,
      results: manifest.results as JobResults | null,
      made: madeBy(manifest),
      error,
      units,
      ...(topMaster === null ? {} : { publish: () => putTopMaster(job.hash, topMaster, media) }),
    },
    dependencies,
  );
}

function errorOf({ status, error, attempt }: ResultManifest): JobError | null {
  return status === 'completed' ? null : { ...(error ?? jobErrorOf('internal', attempt)), attempt };
}

function madeBy({ objects, tool_version: toolVersion }: ResultManifest): End['made'] {
  const bytes = objects.reduce((sum, { size }) => sum + size, 0);
  return { objects: objects.length, bytes, toolVersion };
}

/** The whole output of an attempt. */
interface Output {
  readonly manifest: ResultManifest;
  /** The top master playlist that publishes it; null without a stream. */
  readonly topMaster: string | null;
}

async function readOutput(
  attempt: { readonly job: Job; readonly attempt: number },
  media: ObjectStore,
  signal?: AbortSignal,
): Promise<Output | { readonly reason: string }> {
  const read = await readManifest(attempt, media, signal);
  if ('reason' in read) return read;
  const { manifest } = read;
  const reason = await firstIncomplete(manifest, media, signal);
  if (reason !== null) return { reason };
  const stream = await topMasterOfManifest(manifest, media, signal);
  return 'reason' in stream ? stream : { manifest, topMaster: stream.topMaster };
}

const always = () => Promise.resolve(true);

/** How many attempts back are looked at; more workers than this do not end between a manifest and its recording. */
const attemptsBackMax = 3;

/**
 * Completes a job by the manifest of an earlier attempt whose worker ended before recording it. Null: there is none, or
 * it failed in a way that this attempt need not.
 */
export async function completeByEarlierAttempt(job: Job, d: CompletionDependencies): Promise<Completion | null> {
  const oldest = Math.max(1, job.attempt - attemptsBackMax);
  for (let manifestOf = job.attempt - 1; manifestOf >= oldest; manifestOf--) {
    const completion = await completeAttempt({ job, attempt: job.attempt, manifestOf, isRepeated: always }, d);
    if (completion.outcome !== 'not_whole') return completion;
  }
  return null;
}

interface End {
  readonly job: Job;
  readonly attempt: number;
  readonly results: JobResults | null;
  /** The objects of the results; null without a manifest. */
  readonly made?: FinalState['made'];
  /** Null: completed. */
  readonly error: JobError | null;
  /** The units that the attempt ran. */
  readonly units?: readonly UnitRun[] | undefined;
  /** Makes the stream public; called under the lock of the job's row, unless a later job's stream is public. */
  readonly publish?: () => Promise<void>;
}

/** The transaction that ends a job: status, results or error, and the webhook event. */
export async function recordEnd(
  { job, attempt, results, made = null, error, units, publish }: End,
  { jobs, metrics, randomUuid }: Pick<CompletionDependencies, 'jobs' | 'metrics' | 'randomUuid'>,
): Promise<Exclude<Completion, { outcome: 'not_whole' }>> {
  const recorded = await jobs.finish({
    jobId: job.id,
    attempt,
    status: error === null ? 'completed' : error.code === 'cancelled' ? 'cancelled' : 'failed',
    results,
    made,
    error,
    units,
    ...(error === null ? { progress: jobTypes[job.type].completedProgress } : {}),
    eventId: randomUuid(),
    ...(publish === undefined
      ? {}
      : {
          beforeCommit: async ({ hasNewerStream }) => {
            if (!hasNewerStream) await publish();
          },
        }),
  });
  if (recorded === null) return { outcome: 'not_current' };
  if (recorded.status === 'failed' && error !== null) metrics.jobFailures.inc({ type: job.type, code: error.code });
  return { outcome: 'recorded', job: recorded };
}

/** 500,000 objects at 8 bytes each, and the results. */
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
    (manifest.rev === revisionOf(job.id, attempt) || manifest.rev === (await readSplit(job.id, media, signal))?.rev);
  return isOurs ? { manifest } : { reason: 'the result manifest is of another attempt' };
}

/** The first fault of a manifest's objects; null when all are there, whole, and below revisions of the job. */
async function firstIncomplete(
  { job_id: jobId, attempt, hash, rev, objects }: ResultManifest,
  media: ObjectStore,
  signal?: AbortSignal,
): Promise<string | null> {
  const expected = new Map(objects.map(({ key, size }) => [key, size]));
  // Images of `split` are below the revision of its attempt.
  const attempts = Array.from({ length: attempt }, (_, index) => revisionOf(jobId, index + 1));
  const allowed = new Set([rev, ...attempts].flatMap((each) => revisionRoots(hash, each)));
  const roots = new Set(objects.map(({ key }) => revisionRootOf(key)));
  if ([...roots].some((root) => !allowed.has(root))) return 'the result manifest names an object outside its revision';
  for (const root of roots) {
    for await (const { key, sizeBytes } of listWithin(media, root, { signal })) {
      const size = expected.get(key);
      if (size !== undefined && size !== sizeBytes) return `${key} has ${sizeBytes} bytes, not ${size}`;
      expected.delete(key);
    }
  }
  const [missing] = expected.keys();
  return missing === undefined ? null : `${missing} does not exist`;
}

const playlistBytesMax = 1024 * 1024;

/** The top master playlist of a revision with a stream, whose URIs lead into it; null for a revision without one. */
async function topMasterOfManifest(
  { hash, rev, objects, ...manifest }: ResultManifest,
  media: ObjectStore,
  signal?: AbortSignal,
): Promise<{ readonly topMaster: string | null } | { readonly reason: string }> {
  const results = manifest.results as { streaming?: { master_playlist: string } } | null;
  if (results?.streaming === undefined) return { topMaster: null };
  if (results.streaming.master_playlist !== masterKey(hash))
    return { reason: 'the results name another master playlist' };
  const key = videoKey(hash, rev, masterPath);
  if (!objects.some((object) => object.key === key)) return { reason: 'the revision has no master playlist' };
  const revisionMaster = await readText(media, { key, bytesMax: playlistBytesMax, signal });
  return revisionMaster === null
    ? { reason: `${key} does not exist` }
    : { topMaster: topMasterOf(revisionMaster, rev) };
}
