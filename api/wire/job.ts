import type { Job } from '#domain/jobs/job.ts';
import type { Callback } from '#platform/postgres/callback-store.ts';
import type { Wire } from './schemas.ts';

/** The Job of section 2, with `phase` and `attempt` beside its fields (decisions.md). */
export function jobToWire(job: Job): Wire<'Job'> {
  return {
    job_id: job.id,
    type: job.type,
    hash: job.hash,
    status: job.status,
    phase: job.phase,
    progress: job.progress,
    attempt: job.attempt,
    callback_status: job.callbackStatus,
    retry_of_job_id: job.retryOfJobId,
    error: job.error,
    results: job.results,
    created_at: job.createdAt.toISOString(),
    updated_at: job.updatedAt.toISOString(),
  };
}

/** Section 2, "Create-job response bodies": what a submission is answered. */
export function submissionToWire({
  job,
  isNew,
}: {
  readonly job: Job;
  readonly isNew: boolean;
}): Wire<'JobCreated'> | Wire<'JobCompleted'> | Wire<'Job'> {
  if (isNew) return { job_id: job.id, hash: job.hash, status: job.status };
  if (job.status !== 'completed' || job.results === null) return jobToWire(job);
  return { hash: job.hash, status: job.status, results: job.results };
}

/** Section 2, "Retry response body". */
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

/** The webhook of a job and its attempts (decisions.md, "beyond the specification"). */
export function callbacksToWire(job: Job, callback: Callback | null): Wire<'Callbacks'> {
  return {
    job_id: job.id,
    callback_url: job.callbackUrl,
    callback_status: callback?.status ?? job.callbackStatus,
    event_id: callback?.eventId ?? null,
    next_attempt_at: callback?.nextAttemptAt?.toISOString() ?? null,
    attempts: (callback?.attempts ?? []).map((attempt) => ({
      attempt: attempt.attempt,
      started_at: attempt.startedAt.toISOString(),
      duration_ms: attempt.durationMs,
      status_code: attempt.statusCode,
      error: attempt.error,
    })),
  };
}
