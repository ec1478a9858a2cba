import type { z } from 'zod';
import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job, ShownJob } from '#domain/jobs/job.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { Submitted } from '#jobs/submission/submit.ts';
import type { ListedJob } from '#platform/postgres/job-list.ts';
import type { Callback } from '#platform/postgres/callback-store.ts';
import type {
  callbacksSchema,
  jobCompletedSchema,
  jobCreatedSchema,
  jobSchema,
  listedJobSchema,
  rerunSchema,
  retrySchema,
} from './job-schemas.ts';

/** A job of a list (C13.12). */
export function listedJobToWire(
  { results, ...job }: ListedJob,
  reason: Job['waitingReason'],
): z.output<typeof listedJobSchema> {
  const { results: _, ...wire } = jobToWire({ ...job, results: null }, reason);
  return results === undefined ? wire : { ...wire, results };
}

/** The Job (C13.1). */
export function jobToWire(job: ShownJob, reason: Job['waitingReason'] = job.waitingReason): z.output<typeof jobSchema> {
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
    profile: profileNameOf(job),
    callback_status: job.callbackStatus,
    retry_of_job_id: job.retryOfJobId,
    rerun_of_job_id: job.rerunOfJobId,
    source_etag: job.sourceEtag,
    error: job.error,
    results: job.results,
    results_expired: job.resultsExpired,
    pool: job.pool ?? poolOfQueue[job.queue],
    key_id: job.keyId,
    title: job.title,
    metadata: job.metadata ?? {},
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    finished_at: job.finishedAt?.toISOString() ?? null,
    updated_at: job.updatedAt.toISOString(),
  };
}

/** The answer to a submission (C11.31–C11.33). */
export function submissionToWire(
  { job, isNew, notice, resultsMissing }: Submitted,
  reason: Job['waitingReason'],
): z.output<typeof jobCreatedSchema> | z.output<typeof jobCompletedSchema> | z.output<typeof jobSchema> {
  if (isNew) return { job_id: job.id, hash: job.hash, status: job.status };
  const more = {
    ...(notice === undefined ? {} : { notice }),
    ...(resultsMissing === undefined ? {} : { results_missing: resultsMissing }),
  };
  if (job.status !== 'completed' || job.results === null) return { ...jobToWire(job, reason), ...more };
  const { id, type, hash, status, results } = job;
  return { job_id: id, type, hash, status, profile: profileNameOf(job), results, ...more };
}

function profileNameOf({ type, profile }: Pick<ListedJob, 'type' | 'profile'>): string | null {
  return jobTypeRow(type).makesStream ? (profile?.name ?? 'default') : null;
}

/** The answer to a rerun (C13.29). */
export function rerunToWire({ id, type, status, rerunOfJobId }: Job): z.output<typeof rerunSchema> {
  return { job_id: id, type, status, rerun_of_job_id: rerunOfJobId };
}

/** The answer to a retry (C13.19). */
export function retryToWire(sourceJobId: string, jobs: readonly Job[]): z.output<typeof retrySchema> {
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

/** The webhook of a job and its attempts (C21.21). */
export function webhookToWire(job: ShownJob, webhook: Callback | null): z.output<typeof callbacksSchema> {
  return {
    job_id: job.id,
    callback_url: job.callbackUrl,
    callback_status: webhook?.status ?? job.callbackStatus,
    key_id: job.keyId,
    event_id: webhook?.eventId ?? null,
    next_attempt_at: webhook?.nextAttemptAt?.toISOString() ?? null,
    body: webhook?.body ?? null,
    attempts: (webhook?.attempts ?? []).map((attempt) => ({
      attempt: attempt.attempt,
      started_at: attempt.startedAt.toISOString(),
      duration_ms: attempt.durationMs,
      status_code: attempt.statusCode,
      error: attempt.error,
    })),
  };
}
