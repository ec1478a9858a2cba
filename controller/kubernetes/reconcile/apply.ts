import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import { keyEndpoint } from '#domain/playback/endpoints.ts';
import { runnerVariables } from '#domain/runner/steps.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import {
  jobs,
  type KubeObject,
  type MediaJob,
  mediaJobs,
  type ObjectRef,
  type Resource,
  secrets,
} from '#platform/kubernetes/objects.ts';
import type { TokenBucket } from '#platform/lifecycle/token-bucket.ts';
import type { ClaimedJobs } from '../slots/claimed-jobs.ts';
import { jobManifest } from '../manifests/job-manifest.ts';
import { attemptJobName, keySecretName, labels } from '../manifests/names.ts';
import type { RunningJobs } from '../slots/running-jobs.ts';
import { needsContentKey } from '#jobs/step-access.ts';
import { adopt } from '#jobs/adopt.ts';
import { enqueue } from '#jobs/enqueue.ts';
import type { MediaJobDependencies } from '../dependencies.ts';
import type { Action, Observed } from './plan.ts';
import { activeStatus, refusedStatus } from './status.ts';
import { failJob, settleAttempt } from './settle.ts';
import { type PodProblem, podProblemOf } from './pod-problem.ts';

/** What the actions of a plan are done with; `client` refuses to write once the lease is lost. */
export interface ApplyContext {
  readonly d: MediaJobDependencies;
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly held: ClaimedJobs;
  readonly working: RunningJobs;
  readonly now: () => number;
  readonly pace: TokenBucket;
  /** Called after each write of a status, with the object that came of it. */
  readonly onStatusWritten: (mediaJob: MediaJob) => void;
  /** What last kept a job of a pool from running; null: nothing does. */
  readonly onTrouble: (pool: string, trouble: PodProblem) => void;
  /** Claims a queued job at once if its pool has a free slot; whether it did. */
  readonly claimNow: (job: Job, mediaJob: MediaJob) => Promise<boolean>;
  /** A pool may have room again. */
  readonly onRoom: (pool: string) => void;
}

/**
 * Does one action; each may be repeated. A conflict with a deterministic name means that it was done.
 *
 * @returns false when what follows in the plan must wait for another look
 */
export async function applyAction(action: Action, o: Observed, c: ApplyContext): Promise<boolean> {
  const { mediaJob, row } = o;
  if (action.do === 'adopt') return applyAdopt(mediaJob, c);
  if (action.do === 'writeStatus') {
    if (action.isProgress === true) c.pace.take(c.now());
    return writeStatus(mediaJob, action.status, c);
  }
  if (action.do === 'remove') return remove(mediaJobs, mediaJob, c.client);
  if (action.do === 'deleteJob') return remove(jobs, action.job, c.client);
  if (row === null) throw new TypeError(`${action.do} needs a row`);
  if (action.do === 'createJob') return createJob(o, row, c);
  if (action.do === 'deleteKeys') return deleteKeys(o.mediaJob, row, c.client);
  if (action.do === 'tell') return tell(o, action.trouble, c);
  if (action.do === 'report') {
    const progress = progressOf(action.phase, 0);
    await c.d.jobs.report({ jobId: row.id, attempt: row.attempt, phase: action.phase, progress });
    return true;
  }
  const { creationTimestamp } = o.job?.metadata ?? {};
  const attempt = { row, begunAt: creationTimestamp === undefined ? null : new Date(creationTimestamp) };
  const settled =
    action.do === 'settle' ? await settleAttempt(attempt, action.end, c.d) : await failJob(attempt, action.error, c.d);
  if (settled === 'claimed') {
    c.working.claim(attemptJobName({ id: row.id, attempt: row.attempt + 1 }), row.id);
    // A look at what Postgres holds may have fallen between the two attempts; what was claimed since is not forgotten.
    c.held.add(row.id, { pool: o.pool.name, isSuspended: o.mediaJob.spec.suspend === true });
  } else c.held.remove(row.id);
  if (action.do === 'settle' && action.end.kind === 'done') {
    const pool = c.working.end(attemptJobName(row));
    if (pool !== undefined) c.onRoom(pool);
  }
  // The end of the job takes the key with it; here it is the next attempt that has one of its own.
  if (settled !== 'over' && needsContentKey(row)) await deleteKeys(o.mediaJob, row, c.client);
  return false;
}

async function applyAdopt(mediaJob: MediaJob, c: ApplyContext): Promise<boolean> {
  const adopted = await adopt(mediaJob, c.d);
  if ('refusal' in adopted) return writeStatus(mediaJob, refusedStatus(mediaJob, adopted.refusal, c.now()), c);
  // Its id is what this MediaJob shows from now on.
  const { job } = adopted;
  if (job.id !== mediaJob.metadata?.uid) return writeStatus(mediaJob, { jobId: job.id }, c);
  // The leader reads this queue anyway, so it claims directly.
  if (job.status !== 'queued' || (await c.claimNow(job, mediaJob))) return false;
  await enqueue(c.d, job);
  return false;
}

async function writeStatus(mediaJob: MediaJob, status: MediaJobStatus, c: ApplyContext): Promise<boolean> {
  // With its UID: another object may bear its name by now.
  const patch = { metadata: { uid: mediaJob.metadata?.uid }, status };
  try {
    c.onStatusWritten(await c.client.mergePatch(mediaJobs, refOf(mediaJob), patch, { subresource: 'status' }));
  } catch (error) {
    unlessGone(error);
  }
  return true;
}

function tell({ mediaJob, pool }: Observed, trouble: PodProblem, c: ApplyContext): boolean {
  c.onTrouble(pool.name, trouble);
  const { apiVersion, kind } = mediaJobs;
  c.recorder.record({
    regarding: { ...mediaJob, apiVersion, kind },
    type: 'Warning',
    reason: trouble.reason,
    action: 'Scheduling',
    note: trouble.message,
  });
  return true;
}

async function createJob(o: Observed, row: Job, c: ApplyContext): Promise<boolean> {
  const { mediaJob, pool } = o;
  if (pool.spec === null) throw new TypeError('a Job needs a pool');
  const { d } = c;
  if (needsContentKey(row)) await createKey(mediaJob, row, c);
  const manifest = jobManifest(
    {
      job: row,
      mediaJob,
      pool: { name: pool.name, spec: pool.spec },
      report: d.reportFor({ jobId: row.id, attempt: row.attempt }),
      keyEndpoint: keyEndpoint(d.baseUrl, row.hash),
    },
    d.template,
  );
  const name = attemptJobName(row);
  c.working.begin(name, pool.name);
  try {
    await c.client.create(jobs, manifest);
  } catch (error) {
    // Made before, by this leader or the last one; the cache will show it.
    if (hasReason(error, 'AlreadyExists')) return true;
    c.working.fail(name, row.id);
    if (hasReason(error, 'Invalid')) {
      d.log.error({ err: error, job_id: row.id }, 'the API server refuses the Job');
      const refused = jobErrorOf('internal', row.attempt, 'The cluster refuses the Job of this attempt.');
      await failJob({ row, begunAt: null }, refused, d);
      c.held.remove(row.id);
      return false;
    }
    const denial = hasReason(error, 'Forbidden') ? podProblemOf(null, error.message) : null;
    if (denial?.phase === 'quota_exceeded') await tellOfDenial(o, row, denial, c);
    throw error;
  }
  return true;
}

/** The namespace's quota allows no more Jobs. It is tried again with longer and longer waits. */
async function tellOfDenial(o: Observed, row: Job, trouble: PodProblem, c: ApplyContext): Promise<void> {
  if (o.mediaJob.status?.phase === trouble.phase) return;
  const status = activeStatus({ mediaJob: o.mediaJob, row, pool: o.pool.name, trouble, nowMs: c.now() });
  const { attempt: _, ...rest } = status;
  await writeStatus(o.mediaJob, rest, c);
  tell(o, trouble, c);
}

/** The content key for `publish`: a Secret that nobody can change, gone with the attempt. */
async function createKey(mediaJob: MediaJob, row: Job, { client, d }: ApplyContext): Promise<void> {
  // Whoever moved the job on from an earlier attempt may not have got to removing that one's key.
  await deleteKeys(mediaJob, { id: row.id, attempt: row.attempt - 1 }, client);
  const { kid, key } = await d.contentKeys.findOrCreate(row.hash);
  const { apiVersion, kind } = mediaJobs;
  const { name = '', namespace = '', uid = '' } = mediaJob.metadata ?? {};
  const secret = {
    metadata: {
      namespace,
      name: keySecretName(row),
      labels: { [labels.jobId]: row.id, [labels.attempt]: String(row.attempt) },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    immutable: true,
    type: 'Opaque',
    data: { [runnerVariables.contentKey]: Buffer.from(`${kid}:${key.toString('hex')}`).toString('base64') },
  };
  await client.create(secrets, secret).catch((error: unknown) => {
    if (!hasReason(error, 'AlreadyExists')) throw error;
  });
}

/** Removes the key of an attempt and of those before it: nobody may list Secrets, and their names are known. */
async function deleteKeys(
  { metadata }: MediaJob,
  { id, attempt: last }: Pick<Job, 'id' | 'attempt'>,
  client: KubeClient,
): Promise<true> {
  for (let attempt = last; attempt >= 1; attempt -= 1) {
    const ref = { namespace: metadata?.namespace, name: keySecretName({ id, attempt }) };
    await client.delete(secrets, ref).catch(unlessGone);
  }
  return true;
}

async function remove(resource: Resource<KubeObject>, object: KubeObject, client: KubeClient): Promise<true> {
  const { uid = '' } = object.metadata ?? {};
  await client.delete(resource, refOf(object), { uid, propagation: 'Background' }).catch(unlessGone);
  return true;
}

function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata?.namespace, name: metadata?.name ?? '' };
}

/** What is gone, or bears another's name by now, needs nothing done. */
function unlessGone(error: unknown): void {
  if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
}
