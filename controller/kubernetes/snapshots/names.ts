import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { apiGroup } from '#domain/kubernetes/custom-resource.ts';
import { type UnitKind, unitKindRow } from '#domain/work/unit.ts';
import type { ObjectMeta } from '#platform/kubernetes/objects.ts';

// Names and labels of what the executor makes. Names are deterministic, so that a conflict means "done". None contains
// the media hash, which is the caller's and says what a viewer watches.

export const labels = {
  jobId: `${apiGroup}/job-id`,
  attempt: `${apiGroup}/attempt`,
  pool: `${apiGroup}/pool`,
  unit: `${apiGroup}/unit`,
  /** The API key whose job it is, for tools that split costs by labels; a batch does jobs of several. */
  keyId: `${apiGroup}/key-id`,
  /** The label of the Job and the pod of a batch, which have no job. */
  batchId: `${apiGroup}/batch-id`,
} as const;

/** The annotation of Jobs and pods that names their MediaJob; a label's value may be too short for it. */
export const mediaJobAnnotation = `${apiGroup}/media-job`;

/** The annotation of Jobs with the hash of the settings that they were created from. */
export const templateAnnotation = `${apiGroup}/template`;

/** The annotation of Jobs with the image of their runner, which differs from version to version. */
export const imageAnnotation = `${apiGroup}/runner-image`;

/** The name of the MediaJob that is made for a job. One from kubectl has a name of its own. */
export function mediaJobName(jobId: string): string {
  return `mj-${jobId}`;
}

const reservedName = /^mj-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a name belongs to the MediaJob of a job of the API. */
export function isReservedName(name: string): boolean {
  return reservedName.test(name);
}

/** The name of the batch/v1 Job of an attempt. */
export function attemptJobName({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string {
  return `mj-${id}-${attempt}`;
}

/** The name of the batch/v1 Job of an attempt's units of one kind. */
export function unitJobName(job: Pick<Job, 'id' | 'attempt'>, kind: UnitKind): string {
  return `${attemptJobName(job)}${unitKindRow(kind).nameSuffix}`;
}

/** The Jobs that an attempt may have, in the order in which they run. */
export function unitJobsOf(job: Pick<Job, 'id' | 'attempt' | 'type'>): { kind: UnitKind; name: string }[] {
  const { firstUnit } = jobTypeRow(job.type);
  const kinds = [firstUnit, ...unitKindRow(firstUnit).follows];
  return kinds.map((kind) => ({ kind, name: unitJobName(job, kind) }));
}

/** The name of the batch/v1 Job of a batch. */
export function batchJobName(batchId: string): string {
  return `batch-${batchId}`;
}

/** The key under which a batch is reconciled; no key of a MediaJob has a colon. */
export function batchKey(batchId: string): string {
  return `batch:${batchId}`;
}

/** The id of the job or the batch that a Job or a pod runs; '' for neither. */
export function idOfRun({ labels: own = {} }: ObjectMeta): string {
  return own[labels.jobId] ?? own[labels.batchId] ?? '';
}

/** The key under which a change of a Job or a pod is reconciled; undefined when it is not of our making. */
export function keyOfRun({ namespace, labels: own = {}, annotations = {} }: ObjectMeta): string | undefined {
  const batchId = own[labels.batchId];
  const mediaJob = annotations[mediaJobAnnotation];
  if (batchId !== undefined) return batchKey(batchId);
  return mediaJob === undefined ? undefined : `${namespace}/${mediaJob}`;
}

/** The name of the Secret with an attempt's content key. */
export function keySecretName(job: Pick<Job, 'id' | 'attempt'>): string {
  return `${attemptJobName(job)}-key`;
}
