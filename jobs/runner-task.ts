import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { mediaPrefix, revisionOf } from '#domain/media/object-keys.ts';
import type { Task } from '#domain/runner/task.ts';

/**
 * The task document of the attempt that `job` is at: all that a runner knows of its job; it holds no secret.
 *
 * @param trace the span that the runner continues; by default that of the submission
 */
export function runnerTaskOf(job: Job, trace: TraceContext | null = job.trace): Task {
  return {
    v: 1,
    job_id: job.id,
    attempt: job.attempt,
    type: job.type,
    hash: job.hash,
    source: { key: job.source, etag: job.sourceEtag, size: job.sourceSizeBytes },
    options: job.options,
    profile: 'default',
    prefix: mediaPrefix(job.hash),
    rev: revisionOf(job.id, job.attempt),
    trace,
  } as Task;
}
