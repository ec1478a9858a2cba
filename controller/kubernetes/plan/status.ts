import type { JobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { Condition } from '#domain/kubernetes/custom-resource.ts';
import type { MediaJobConditionType, MediaJobPhase, MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { ShownProblem } from './pod-problem.ts';

/** The inputs of a status. */
interface StatusInput {
  readonly mediaJob: MediaJob;
  readonly row: Job;
  readonly pool: string;
  readonly problem: ShownProblem | null;
  readonly nowMs: number;
}

type Wanted = Partial<
  Record<MediaJobConditionType, readonly [status: 'True' | 'False', reason: string, message: string]>
>;

/** Messages of Kubernetes may be longer than the definition allows. */
const messageLengthMax = 2_000;

/** The status of a MediaJob whose job is active. */
export function activeStatus({ mediaJob, row, pool, problem, nowMs }: StatusInput): MediaJobStatus {
  const isSuspended = mediaJob.spec.suspend === true;
  const phase: MediaJobPhase = isSuspended ? 'suspended' : (problem?.phase ?? row.phase ?? 'admitted');
  const wanted: Wanted = {
    ...(isSuspended ? { Suspended: ['True', 'Suspended', 'spec.suspend is set; the job does not run.'] } : {}),
    ...resumption(mediaJob),
    Progressing: isSuspended
      ? ['False', 'Suspended', 'spec.suspend is set.']
      : problem === null
        ? ['True', 'AttemptBegun', `Attempt ${row.attempt} has begun.`]
        : ['False', problem.reason, problem.message],
  };
  const at = timeOf(nowMs);
  return {
    ...sharedStatus({ mediaJob, row, pool }),
    phase,
    startTime: mediaJob.status?.startTime ?? at,
    conditions: mergedConditions(mediaJob, wanted, at),
  };
}

/** The status of a MediaJob whose row is final; `begunAt`: when its last attempt began, if known. */
export function finalStatus({
  mediaJob,
  row,
  pool,
  nowMs,
  begunAt,
}: Omit<StatusInput, 'problem'> & { readonly begunAt: string | undefined }): MediaJobStatus {
  if (!isFinal(row.status)) throw new TypeError(`${row.status} is not final`);
  const isCompleted = row.status === 'completed';
  const reason = isCompleted ? 'Completed' : row.status === 'cancelled' ? 'Cancelled' : camelCase(row.error?.code);
  const message = isCompleted ? 'Every result is published.' : (row.error?.message ?? 'The job failed.');
  const hasResults = row.results !== null;
  const at = timeOf(nowMs);
  return {
    ...sharedStatus({ mediaJob, row, pool }),
    phase: row.status as MediaJobPhase,
    startTime: mediaJob.status?.startTime ?? begunAt ?? at,
    completionTime: at,
    ...(row.results === null ? {} : { results: { ...row.results } }),
    ...(row.error === null ? {} : { error: row.error }),
    conditions: mergedConditions(
      mediaJob,
      {
        // An attempt may be over before the status of a running job is written.
        ...resumption(mediaJob),
        ...(isCompleted ? { Complete: ['True', reason, message] } : { Failed: ['True', reason, message] }),
        Progressing: ['False', reason, message],
        ...(isCompleted && hasResults
          ? { Published: ['True', 'Published', 'The results are in the media bucket.'] }
          : {}),
      },
      at,
    ),
  };
}

/** The condition of a job that was suspended and no longer is. */
function resumption({ spec, status }: MediaJob): Wanted {
  const wasSuspended = status?.conditions?.some(({ type }) => type === 'Suspended') === true;
  return wasSuspended && spec.suspend !== true ? { Suspended: ['False', 'Resumed', 'spec.suspend is not set.'] } : {};
}

/** The status of a MediaJob whose job cannot be created for now. */
export function notAdoptedStatus({ mediaJob, reason, message, nowMs }: NotAdopted): MediaJobStatus {
  const at = timeOf(nowMs);
  const wanted: Wanted = { Progressing: ['False', reason, message] };
  return {
    observedGeneration: mediaJob.metadata?.generation ?? 0,
    phase: 'queued',
    conditions: mergedConditions(mediaJob, wanted, at),
  };
}

interface NotAdopted {
  readonly mediaJob: MediaJob;
  /** The reason of the condition `Progressing`. */
  readonly reason: 'AdoptionFailed' | 'ProfileNotFound' | 'ProfileInvalid' | 'StorageUnavailable';
  readonly message: string;
  readonly nowMs: number;
}

/** The status of a MediaJob that no job can be made for. */
export function refusedStatus(mediaJob: MediaJob, error: JobError, nowMs: number): MediaJobStatus {
  const { message } = error;
  const at = timeOf(nowMs);
  return {
    observedGeneration: mediaJob.metadata?.generation ?? 0,
    phase: 'failed',
    completionTime: at,
    error,
    conditions: mergedConditions(
      mediaJob,
      { Failed: ['True', 'Refused', message], Progressing: ['False', 'Refused', message] },
      at,
    ),
  };
}

function sharedStatus({ mediaJob, row, pool }: Pick<StatusInput, 'mediaJob' | 'row' | 'pool'>) {
  return {
    observedGeneration: mediaJob.metadata?.generation ?? 0,
    jobId: row.id,
    pool,
    attempt: row.attempt,
    progress: row.progress,
  };
}

/** The conditions with the wanted ones replaced. */
function mergedConditions({ metadata, status }: MediaJob, wanted: Wanted, at: string): Condition[] {
  const before = status?.conditions ?? [];
  const observedGeneration = metadata?.generation ?? 0;
  const made = Object.entries(wanted).map(([type, [state, reason, message]]) => {
    // The deadlines count from here, so another reason for False counts as a transition too.
    const same = before.find(
      (condition) =>
        condition.type === type && condition.status === state && (state === 'True' || condition.reason === reason),
    );
    return {
      type,
      status: state,
      observedGeneration,
      lastTransitionTime: same?.lastTransitionTime ?? at,
      reason,
      message: message.slice(0, messageLengthMax),
    };
  });
  return [...before.filter(({ type }) => !(type in wanted)), ...made];
}

/** Progress is written at most every 5 s, and in steps of at least 5 %. */
const progressStep = 5;
const progressEveryMs = 5_000;

/**
 * Whether `wanted` differs enough from the current status to be written: any condition at once, progress by its step
 * and interval.
 *
 * @param sinceWrittenMs the time since this process last wrote the status
 */
export function isWorthWriting(
  current: MediaJobStatus | undefined,
  wanted: MediaJobStatus,
  sinceWrittenMs: number,
): boolean {
  if (current === undefined || current.attempt !== wanted.attempt || current.jobId !== wanted.jobId) return true;
  if (outlineOf(current) !== outlineOf(wanted)) return true;
  const grown = (wanted.progress ?? 0) - (current.progress ?? 0);
  const hasGrown = grown >= progressStep || (wanted.chunks ?? current.chunks) !== current.chunks;
  return hasGrown && sinceWrittenMs >= progressEveryMs;
}

function outlineOf({ conditions = [] }: MediaJobStatus): string {
  return conditions
    .map(({ type, status, reason }) => `${type}=${status}:${reason}`)
    .toSorted()
    .join(' ');
}

/** RFC 3339. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function camelCase(code = 'failed'): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
