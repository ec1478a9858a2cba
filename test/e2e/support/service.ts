import { createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject } from 'vitest';
import type { JobResults, JobType } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { JobAnswer } from '../../../demo/jobs.ts';
import { bucketOf, type buckets } from './host-servers.ts';
import { kubectl, kubectlJson } from './kubectl.ts';
import type { List, MediaJobObject, PodObject } from './objects.ts';
import { release } from './release.ts';

// The release under test, as callers (HTTP) and operators (kubectl) use it.

/** The fields of `GET /api/jobs/{id}` that the tests read. */
export type JobShown = JobAnswer & { readonly attempt: number; readonly callback_status: Job['callbackStatus'] };

interface Submission {
  readonly type: JobType;
  readonly source: string;
  readonly hash?: string;
  readonly options?: object;
  readonly callback_url?: string;
}

let turn = 0;

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const { apiUrl, secrets } = inject('e2e');
  turn += 1;
  const apiKey = secrets.apiKeys[turn % secrets.apiKeys.length] ?? '';
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  // The port forward restarts when its pod ends.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetch(`${apiUrl}${path}`, { ...init, headers, signal: AbortSignal.timeout(20_000) });
    } catch (error) {
      if (attempt === 30) throw error;
      await sleep(500);
    }
  }
}

/** A hash that no other job has. */
export function newHash(): string {
  return `e2e-${randomBytes(6).toString('hex')}`;
}

/** `POST /api/jobs`, repeated when the answer is lost: the same job answers. */
export async function post(submission: Submission): Promise<{ status: number; body: Record<string, unknown> }> {
  const body = JSON.stringify({ hash: newHash(), ...submission });
  const response = await ask('/api/jobs', { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Submits a job and returns its id. */
export async function submit(submission: Submission): Promise<string> {
  const { status, body } = await post(submission);
  if (typeof body['job_id'] !== 'string') throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body['job_id'];
}

export async function getJob(id: string): Promise<JobShown> {
  const response = await ask(`/api/jobs/${id}`);
  if (response.status !== 200) throw new Error(`job ${id} is answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as JobShown;
}

export async function cancel(id: string): Promise<number> {
  return (await ask(`/api/jobs/${id}/cancel`, { method: 'POST', body: '{}' })).status;
}

/** Cancels every unfinished job, so that the next test starts with empty pools. */
export async function cancelUnfinished(): Promise<void> {
  for (const status of ['queued', 'processing']) {
    const { jobs } = (await (await ask(`/api/jobs?status=${status}`)).json()) as { jobs: { job_id: string }[] };
    await Promise.all(jobs.map(({ job_id }) => cancel(job_id)));
  }
}

/** Polls a job until its status is final. */
export function ended(id: string, timeoutMs = 240_000): Promise<JobShown> {
  return eventually(
    () => getJob(id),
    ({ status }) => isFinal(status),
    timeoutMs,
  );
}

/** Polls a job until it has completed. @throws Error when it ends otherwise */
export async function completed<T extends JobType>(id: string, timeoutMs?: number) {
  const job = await ended(id, timeoutMs);
  if (job.status !== 'completed' || job.results === null)
    throw new Error(`expected a completed job, found ${JSON.stringify(job)}`);
  return job as unknown as JobShown & { readonly results: JobResults<T> };
}

/** Polls until `isExpected` holds. @throws Error with the last value after `timeoutMs` */
export async function eventually<T>(
  read: () => Promise<T>,
  isExpected: (value: T) => boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (isExpected(value)) return value;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${JSON.stringify(value).slice(0, 4000)}`);
    await sleep(300);
  }
}

export function mediaJob(name: string): Promise<MediaJobObject> {
  return kubectlJson('-n', release.runners, 'get', 'mediajob', name);
}

/** The runner pods of a job, or of all jobs. */
export async function runnerPods(jobId?: string): Promise<readonly PodObject[]> {
  const selector = jobId === undefined ? 'reelwright.dev/pool' : `reelwright.dev/job-id=${jobId}`;
  return (await kubectlJson<List<PodObject>>('-n', release.runners, 'get', 'pods', '-l', selector)).items;
}

/** The name of the running container of a pod. */
function runningStep({ status }: PodObject): string | undefined {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.find(({ state }) => state?.running !== undefined)?.name;
}

/** A pod of the job, or of any for null, that runs `step`. */
export async function podAtStep(jobId: string | null, step: string, timeoutMs = 60_000): Promise<PodObject> {
  const isAt = (pod: PodObject) => runningStep(pod) === step && pod.metadata.deletionTimestamp === undefined;
  const pods = await eventually(
    () => runnerPods(jobId ?? undefined),
    (found) => found.some(isAt),
    timeoutMs,
  );
  const pod = pods.find(isAt);
  if (pod === undefined) throw new Error('expected a pod at this step');
  return pod;
}

/** Puts a file into the source bucket. */
export async function putSource(key: string, path: string): Promise<void> {
  const store = openBucket('source');
  await store.put(key, await readFile(path), { contentType: 'application/octet-stream' });
  await store.close();
}

export function openBucket(which: keyof typeof buckets): ObjectStore {
  return bucketOf(inject('e2e').servers, which);
}

/** The expected `X-Signature` of a body. */
export function signatureOf(body: Buffer): string {
  return `sha256=${createHmac('sha256', inject('e2e').secrets.webhook).update(body).digest('hex')}`;
}

/** `kubectl` in the runners' namespace. */
export function inRunners(...args: string[]): Promise<string> {
  return kubectl('-n', release.runners, ...args);
}
