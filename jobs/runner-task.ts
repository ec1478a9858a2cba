import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { mediaPrefix, revisionOf } from '#domain/media/object-keys.ts';
import type { Task } from '#domain/runner/task.ts';

/**
 * The task document of the attempt that `job` is at: all that a runner is told, and no secret in it.
 *
 * @param trace the span that the runner continues; the submission's own unless told
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

/** Whether the attempt packages an encrypted stream, and so needs the content key of its media. */
export function needsContentKey(job: Pick<Job, 'type' | 'options'>): boolean {
  const options = job.options as { encrypt?: boolean; transcode?: { encrypt?: boolean } };
  if (job.type === 'video:transcode') return options.encrypt === true;
  return job.type === 'video:full' && options.transcode?.encrypt === true;
}
