import type { Job } from '#domain/jobs/job.ts';
import { apiGroup } from '#domain/kubernetes/custom-resource.ts';

// Names and labels of what the executor makes. Names are deterministic, so that making something twice is a conflict
// that means "done". None holds the media hash, which is the caller's and says what a viewer watches.

export const labels = {
  jobId: `${apiGroup}/job-id`,
  attempt: `${apiGroup}/attempt`,
  pool: `${apiGroup}/pool`,
} as const;

/** The annotation of Jobs and pods that names their MediaJob; a label's value may be too short for it. */
export const mediaJobAnnotation = `${apiGroup}/media-job`;

/** The annotation of Jobs with the hash of the settings that they were created from. */
export const templateAnnotation = `${apiGroup}/template`;

/** The name of the MediaJob that is made for a job. One from kubectl has a name of its own. */
export function mediaJobName(jobId: string): string {
  return `mj-${jobId}`;
}

/** The name of the batch/v1 Job of an attempt. */
export function attemptJobName({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string {
  return `mj-${id}-${attempt}`;
}

/** The name of the Secret with an attempt's content key. */
export function keySecretName(job: Pick<Job, 'id' | 'attempt'>): string {
  return `${attemptJobName(job)}-key`;
}
