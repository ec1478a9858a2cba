import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { Callback } from '#platform/postgres/callback-store.ts';
import type { Wire } from './schemas.ts';

/** The Job (C2.19). */
export function jobToWire(job: Job, reason: Job['waitingReason'] = job.waitingReason): Wire<'Job'> {
  return {
    job_id: job.id,
    type: job.type,
    hash: job.hash,
    status: job.status,
    phase: job.phase,
    reason,
    progress: job.progress,
    eta: job.eta?.toISOString() ?? null,
    attempt: job.attempt,
    profile: jobTypeRow(job.type).makesStream ? (job.profile?.name ?? 'default') : null,
    callback_status: job.callbackStatus,
    retry_of_job_id: job.retryOfJobId,
    error: job.error,
    results: job.results,
    created_at: job.createdAt.toISOString(),
    updated_at: job.updatedAt.toISOString(),
  };
}

/** The answer to a submission (C2.53–C2.55). */
export function submissionToWire(
  { job, isNew }: { readonly job: Job; readonly isNew: boolean },
  reason: Job['waitingReason'],
): Wire<'JobCreated'> | Wire<'JobCompleted'> | Wire<'Job'> {
  if (isNew) return { job_id: job.id, hash: job.hash, status: job.status };
  if (job.status !== 'completed' || job.results === null) return jobToWire(job, reason);
  return { job_id: job.id, type: job.type, hash: job.hash, status: job.status, results: job.results };
}

/** The answer to a retry (C2.56). */
export function retryToWire(sourceJobId: string, jobs: readonly Job[]): Wire<'Retry'> {
  return {
    source_job_id: sourceJobId,
    strategy: 'retry_tasks',
    jobs: jobs.map((job) => ({
      job_id: job.id,
      type: job.type,
      status: job.status,
      retry_of_job_id: job.retryOfJobId,
    })),
  };
}

/** The webhook of a job and its attempts (C4.16). */
export function webhookToWire(job: Job, webhook: Callback | null): Wire<'Callbacks'> {
  return {
    job_id: job.id,
    callback_url: job.callbackUrl,
    callback_status: webhook?.status ?? job.callbackStatus,
    event_id: webhook?.eventId ?? null,
    next_attempt_at: webhook?.nextAttemptAt?.toISOString() ?? null,
    attempts: (webhook?.attempts ?? []).map((attempt) => ({
      attempt: attempt.attempt,
      started_at: attempt.startedAt.toISOString(),
      duration_ms: attempt.durationMs,
      status_code: attempt.statusCode,
      error: attempt.error,
    })),
  };
}
