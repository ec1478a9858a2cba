import type { Job } from '#domain/jobs/job.ts';
import { apiGroup } from '#domain/kubernetes/custom-resource.ts';

// Names and labels of what the executor makes. Names are deterministic, so that making something twice is a conflict
// that means "done". None holds the media hash, which is the caller's and says what a viewer watches.

export const labels = {
  jobId: `${apiGroup}/job-id`,
  attempt: `${apiGroup}/attempt`,
  pool: `${apiGroup}/pool`,
  part: `${apiGroup}/part`,
} as const;

/** The annotation of Jobs and pods that names their MediaJob; a label's value may be too short for it. */
export const mediaJobAnnotation = `${apiGroup}/media-job`;

/** The annotation of Jobs with the hash of the settings that they were created from. */
export const templateAnnotation = `${apiGroup}/template`;

/** The name of the MediaJob that is made for a job. One from kubectl has a name of its own. */
export function mediaJobName(jobId: string): string {
  return `mj-${jobId}`;
}

const reservedName = /^mj-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a name is that of the MediaJob of a job of the API. */
export function isReservedName(name: string): boolean {
  return reservedName.test(name);
}

/** The name of the batch/v1 Job of an attempt. */
export function attemptJobName({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string {
  return `mj-${id}-${attempt}`;
}

/** The parts of a film's work that have a Job each. A job in one piece is done by the Job of `split`. */
export const partKinds = ['split', 'encode', 'finish'] as const;
/** One of them. */
export type PartKind = (typeof partKinds)[number];

const partSuffix: Readonly<Record<PartKind, string>> = { split: '', encode: '-e', finish: '-f' };

/** The name of the batch/v1 Job of a part. */
export function partJobName(job: Pick<Job, 'id' | 'attempt'>, part: PartKind): string {
  return `${attemptJobName(job)}${partSuffix[part]}`;
}

/** The name of the Secret with an attempt's content key. */
export function keySecretName(job: Pick<Job, 'id' | 'attempt'>): string {
  return `${attemptJobName(job)}-key`;
}
