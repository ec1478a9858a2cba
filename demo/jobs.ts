import { setTimeout as sleep } from 'node:timers/promises';
import type { JobOptions, JobResults, JobType } from '#domain/job-types/index.ts';
import type { JobError } from '#domain/job-error.ts';
import { isFinal, type JobStatus } from '#domain/jobs/status.ts';

// A client of the job API.

export interface ApiAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
}

/** The fields of `GET /api/jobs/{id}` that the demo reads. */
export interface JobAnswer<T extends JobType = JobType> {
  readonly job_id: string;
  readonly type: T;
  readonly hash: string;
  readonly status: JobStatus;
  readonly attempt: number;
  readonly phase: string | null;
  readonly progress: number;
  readonly error: JobError | null;
  readonly results: JobResults<T> | null;
}

/** A job to submit; omitted options get their defaults. */
export interface NewJob<T extends JobType> {
  readonly type: T;
  readonly hash: string;
  readonly source: string;
  readonly options: { readonly [K in keyof JobOptions<T>]?: Partial<JobOptions<T>[K]> };
}

/** Submits a new job and returns its id. @throws Error with the service's answer when it is refused */
export async function submitJob<T extends JobType>(job: NewJob<T>, api: ApiAccess): Promise<string> {
  const response = await fetch(`${api.baseUrl}/api/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': api.apiKey },
    body: JSON.stringify(job),
    signal: api.signal,
  });
  const body = await response.text();
  if (response.status !== 202) throw new Error(`${job.type} was not accepted: ${response.status} ${body}`);
  return (JSON.parse(body) as { job_id: string }).job_id;
}

async function getJob(jobId: string, api: ApiAccess): Promise<JobAnswer> {
  const headers = { 'x-api-key': api.apiKey };
  const response = await fetch(`${api.baseUrl}/api/jobs/${jobId}`, { headers, signal: api.signal });
  const body = await response.text();
  if (response.status !== 200)
    throw new Error(`GET /api/jobs/${jobId} answered ${response.status} instead of 200: ${body}`);
  return JSON.parse(body) as JobAnswer;
}

const cancelTimeoutMs = 3_000;

/** Cancels jobs that may still run, so that the next run on this database does not continue them. */
export async function cancelJobs(jobIds: readonly string[], { baseUrl, apiKey }: ApiAccess): Promise<void> {
  const signal = AbortSignal.timeout(cancelTimeoutMs);
  const cancel = (id: string) =>
    fetch(`${baseUrl}/api/jobs/${id}/cancel`, { method: 'POST', headers: { 'x-api-key': apiKey }, signal });
  // A finished job answers 409 and a stopped service nothing: both are fine here.
  await Promise.allSettled(jobIds.map(cancel));
}

/** Cancels the jobs that a killed run left in this database. */
export async function cancelLeftJobs(api: ApiAccess): Promise<void> {
  for (const status of ['queued', 'processing'] as const) {
    const jobs = await listJobs(status, api);
    await cancelJobs(
      jobs.map((job) => job.job_id),
      api,
    );
  }
}

/** The newest jobs in a status, as many as a page has. */
export async function listJobs(
  status: JobStatus,
  { baseUrl, apiKey, signal }: ApiAccess,
): Promise<readonly JobAnswer[]> {
  const response = await fetch(`${baseUrl}/api/jobs?status=${status}`, { headers: { 'x-api-key': apiKey }, signal });
  if (response.status !== 200) throw new Error(`GET /api/jobs answered ${response.status} instead of 200`);
  return ((await response.json()) as { jobs: readonly JobAnswer[] }).jobs;
}

/** A service that does not answer for so long has ended. */
const outageMsMax = 30_000;

/** Polls a job until it has ended. @throws Error when it did not complete */
export async function waitForJob<T extends JobType>(
  jobId: string,
  api: ApiAccess,
  onJob: (job: JobAnswer) => void = () => {},
): Promise<JobAnswer<T> & { readonly results: JobResults<T> }> {
  let answeredAt = Date.now();
  for (;;) {
    // A busy machine may let a request fail: the service is asked again for a while.
    const job = await getJob(jobId, api).catch((error: unknown) => {
      api.signal.throwIfAborted();
      if (!(error instanceof TypeError) || Date.now() - answeredAt > outageMsMax) throw error;
      return null;
    });
    if (job === null) {
      await sleep(1_000, undefined, { signal: api.signal });
      continue;
    }
    answeredAt = Date.now();
    onJob(job);
    if (job.status === 'completed' && job.results !== null) return job as JobAnswer<T> & { results: JobResults<T> };
    if (isFinal(job.status)) throw new Error(`${job.type} ${job.status}: ${whyFailed(job)}`);
    await sleep(300, undefined, { signal: api.signal });
  }
}

function whyFailed({ error }: JobAnswer): string {
  if (error === null) return 'the job has no error';
  const tail = error.details?.log_tail?.trim().split('\n').at(-1);
  return `${error.code}: ${error.message}${tail === undefined ? '' : ` (${tail})`}`;
}
