import type { Job } from '#domain/jobs/job.ts';

/** The Job of section 2, with `phase` and `attempt` beside its fields (decisions.md). */
export function jobToWire(job: Job) {
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

/** Section 2, "Create-job response bodies": what an equal submission is answered. */
export function submissionToWire({ job, isNew }: { job: Job; isNew: boolean }) {
  if (isNew) return { job_id: job.id, hash: job.hash, status: job.status };
  if (job.status === 'completed') return { hash: job.hash, status: job.status, results: job.results };
  return jobToWire(job);
}

/** Section 2, "Retry response body". */
export function retryToWire(sourceJobId: string, jobs: readonly Job[]) {
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
