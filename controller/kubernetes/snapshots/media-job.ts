import type { Job } from '#domain/jobs/job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { labels, mediaJobName } from './names.ts';
import { trimMeta } from './trim.ts';

/** A MediaJob without its results, which are long and which the controller does not read. */
export function trimMediaJob({ metadata, spec, status }: MediaJob): MediaJob {
  const { results: _results, ...rest } = status ?? {};
  return { metadata: trimMeta(metadata), spec, ...(status === undefined ? {} : { status: rest }) };
}

/** Whether the executor created this MediaJob for a job of the API; else it is a submission by kubectl. */
export function isOfApiJob({ metadata }: Pick<MediaJob, 'metadata'>): boolean {
  const jobId = metadata?.labels?.[labels.jobId];
  return jobId !== undefined && metadata?.name === mediaJobName(jobId);
}

/** The id of a MediaJob's job: for a submission by kubectl its UID, unless an equal live job was there before. */
export function jobIdOf(mediaJob: Pick<MediaJob, 'metadata' | 'status'>): string {
  const followed = isOfApiJob(mediaJob) ? undefined : mediaJob.status?.jobId;
  return followed ?? ownJobIdOf(mediaJob);
}

/** The id of the job that only this MediaJob runs. One that follows an equal job has none of this id. */
export function ownJobIdOf(mediaJob: Pick<MediaJob, 'metadata'>): string {
  const { labels: given, uid = '' } = mediaJob.metadata ?? {};
  return (isOfApiJob(mediaJob) ? given?.[labels.jobId] : undefined) ?? uid;
}

/** Whether the row of a MediaJob is the job of an equal submission, which the MediaJob follows. */
export function isFollower(mediaJob: Pick<MediaJob, 'metadata'>, row: Pick<Job, 'id'> | null): boolean {
  return row !== null && row.id !== ownJobIdOf(mediaJob);
}

/** Whether a MediaJob has ended. */
export function hasEnded({ status }: Pick<MediaJob, 'status'>): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => (type === 'Complete' || type === 'Failed') && state === 'True',
  );
}

/** The remaining TTL of a MediaJob that has ended, in milliseconds; below 0, it is to be deleted. */
export function remainingTtlMs({ status }: Pick<MediaJob, 'status'>, ttlMs: number, nowMs: number): number {
  return (Date.parse(status?.completionTime ?? '') || nowMs) + ttlMs - nowMs;
}

/** Whether a MediaJob shows that its job has succeeded. */
export function isComplete({ status }: Pick<MediaJob, 'status'>): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True') === true;
}
