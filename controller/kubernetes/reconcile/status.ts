import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { Condition } from '#domain/kubernetes/custom-resource.ts';
import type { MediaJobConditionType, MediaJobPhase, MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { PodProblem } from './pod-problem.ts';

/** What a status is made of. */
interface StatusInput {
  readonly mediaJob: MediaJob;
  readonly row: Job;
  readonly pool: string;
  readonly trouble: PodProblem | null;
  readonly nowMs: number;
}

type Wanted = Partial<
  Record<MediaJobConditionType, readonly [status: 'True' | 'False', reason: string, message: string]>
>;

/** A condition's message is bounded by the definition; what Kubernetes says of a pod may be longer. */
const messageLengthMax = 2_000;

/** The status of a MediaJob whose job goes on. */
export function activeStatus({ mediaJob, row, pool, trouble, nowMs }: StatusInput): MediaJobStatus {
  const isSuspended = mediaJob.spec.suspend === true;
  const phase: MediaJobPhase = isSuspended ? 'suspended' : (trouble?.phase ?? row.phase ?? 'admitted');
  const wasSuspended = mediaJob.status?.conditions?.some(({ type }) => type === 'Suspended') === true;
  const wanted: Wanted = {
    ...(isSuspended
      ? { Suspended: ['True', 'Suspended', 'spec.suspend is set; no work is done.'] }
      : wasSuspended
        ? { Suspended: ['False', 'Resumed', 'The work goes on.'] }
        : {}),
    Progressing: isSuspended
      ? ['False', 'Suspended', 'spec.suspend is set.']
      : trouble === null
        ? ['True', 'AttemptBegun', `Attempt ${row.attempt} has begun.`]
        : ['False', trouble.reason, trouble.message],
  };
  const at = timeOf(nowMs);
  return {
    ...sharedStatus({ mediaJob, row, pool }),
    phase,
    startTime: mediaJob.status?.startTime ?? at,
    conditions: mergedConditions(mediaJob, wanted, at),
  };
}

/** The status of a MediaJob whose row is final; `begunAt`: when its last attempt began, if that is known. */
export function finalStatus({
  mediaJob,
  row,
  pool,
  nowMs,
  begunAt,
}: Omit<StatusInput, 'trouble'> & { readonly begunAt: string | undefined }): MediaJobStatus {
  if (!isFinal(row.status)) throw new TypeError(`${row.status} is no end`);
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

/** The status of a MediaJob from kubectl that can be no job. */
export function refusedStatus(mediaJob: MediaJob, message: string, nowMs: number): MediaJobStatus {
  const at = timeOf(nowMs);
  return {
    observedGeneration: mediaJob.metadata?.generation ?? 0,
    phase: 'failed',
    completionTime: at,
    conditions: mergedConditions(mediaJob, { Failed: ['True', 'Refused', message] }, at),
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

/** The conditions with those that are wanted; the time of one moves only with its status. */
function mergedConditions({ metadata, status }: MediaJob, wanted: Wanted, at: string): Condition[] {
  const before = status?.conditions ?? [];
  const observedGeneration = metadata?.generation ?? 0;
  const made = Object.entries(wanted).map(([type, [state, reason, message]]) => {
    const same = before.find((condition) => condition.type === type && condition.status === state);
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

/** Progress is mirrored by so many percent at a time, and so often (docs/decisions/0051). */
const mirrorStep = 5;
const mirrorEveryMs = 5_000;

/**
 * Whether `wanted` says enough that the status does not. What changes at once is written at once; progress waits for
 * its step and its time.
 *
 * @param writtenMs when the status was last written, as far as this process knows
 */
export function isWorthWriting(
  now: MediaJobStatus | undefined,
  wanted: MediaJobStatus,
  sinceWrittenMs: number,
): boolean {
  if (now === undefined || now.attempt !== wanted.attempt || now.jobId !== wanted.jobId) return true;
  if (outlineOf(now) !== outlineOf(wanted)) return true;
  const grown = (wanted.progress ?? 0) - (now.progress ?? 0);
  return grown >= mirrorStep && sinceWrittenMs >= mirrorEveryMs;
}

function outlineOf({ conditions = [] }: MediaJobStatus): string {
  return conditions
    .map(({ type, status, reason }) => `${type}=${status}:${reason}`)
    .toSorted()
    .join(' ');
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function camelCase(code = 'failed'): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
