import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { mediaPrefix, revisionOf } from '#domain/media/object-keys.ts';
import type { FilmPart, Task } from '#domain/runner/task.ts';

interface TaskInput {
  readonly job: Job;
  /** `MAX_FILE_SIZE`, in bytes. */
  readonly maxFileSizeBytes: number;
  /** The span that the runner continues; by default that of the submission. */
  readonly trace?: TraceContext | null;
  /** The part of a film's work, and the film's revision once it is known; absent: the whole job. */
  readonly film?: { readonly part: FilmPart; readonly rev?: string };
}

/** The task document of the attempt that `job` is at: all that a runner knows of its job; it holds no secret. */
export function runnerTaskOf({ job, maxFileSizeBytes, trace = job.trace, film }: TaskInput): Task {
  const bytesMax = Math.min(maxFileSizeBytes, jobTypeRow(job.type).sourceBytesMax ?? Infinity);
  return {
    v: 1,
    job_id: job.id,
    attempt: job.attempt,
    type: job.type,
    hash: job.hash,
    source: { key: job.source, etag: job.sourceEtag, size: job.sourceSizeBytes, bytes_max: bytesMax },
    options: job.options,
    profile: job.profile,
    prefix: mediaPrefix(job.hash),
    rev: film?.rev ?? revisionOf(job.id, job.attempt),
    part: film?.part ?? null,
    trace,
  } as Task;
}
