import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { keyEndpoint } from '#domain/playback/endpoints.ts';
import { needsContentKey } from '#jobs/step-access.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, type KubeObject, mediaJobs, type Resource } from '#platform/kubernetes/objects.ts';
import { type LeaderContext, wakeWaiting } from '../leader-context.ts';
import { jobManifest } from '../manifests/job-manifest.ts';
import { partJobName, partKinds } from '../manifests/names.ts';
import { claimOf, type JobSnapshot } from '../snapshots.ts';
import { applyAdopt } from './apply-adopt.ts';
import { concludeAndClaim, failIfRefused, failJob } from './conclude.ts';
import { createKeySecret, deleteKeySecrets } from './key-secret.ts';
import type { Action, Observed } from './observed.ts';
import { podProblemOf, waitingReasonOf } from './pod-problem.ts';
import { activeStatus } from './status.ts';
import { recordProblem, refOf, unlessDeleted, writeStatus } from './write-status.ts';

type ActionOf<Kind extends Action['do']> = Extract<Action, { do: Kind }>;

/**
 * Does one action; each may be repeated. A conflict with a deterministic name means that it was done before.
 *
 * @returns false if the following actions of the plan need another observation; `waits` if something else has to change
 *   before that
 */
export async function applyAction(
  action: Action,
  observed: Observed,
  context: LeaderContext,
): Promise<boolean | 'waits'> {
  const { mediaJob, row } = observed;
  const { client, dependencies, progressRate, now } = context;
  if (action.do === 'adopt') return applyAdopt(mediaJob, context);
  if (action.do === 'writeStatus') {
    if (action.isProgress === true) progressRate.take(now());
    return writeStatus(mediaJob, action.status, context);
  }
  if (action.do === 'deleteMediaJob') return remove(mediaJobs, mediaJob, client);
  if (action.do === 'deleteJob') return remove(jobs, action.job, client);
  if (action.do === 'scaleJob') return scale(action.job, action.parallelism, client);
  if (action.do === 'recordProblem') return recordProblem(observed, action.problem, context);
  if (row === null) throw new TypeError(`${action.do} needs a row`);
  if (action.do === 'createJob') return createJob(observed, row, context);
  if (action.do === 'deleteKeys') {
    await deleteKeySecrets(mediaJob, row, context);
    return true;
  }
  if (action.do === 'reportPhase') {
    // A suspension keeps the progress of the attempt.
    const isSuspension = action.phase === 'suspended' || row.phase === 'suspended';
    const reached = progressOf(action.phase, action.fraction ?? 0);
    const progress = isSuspension ? Math.max(row.progress, reached) : reached;
    await dependencies.jobs.report({ jobId: row.id, attempt: row.attempt, phase: action.phase, progress });
    return true;
  }
  if (action.do === 'recordWaiting') {
    await dependencies.jobs.recordWaiting({ jobId: row.id, attempt: row.attempt }, action.reason);
    return true;
  }
  return applyEnd(action, observed, row, context);
}

/** The attempt ended, or the job fails. */
async function applyEnd(
  action: ActionOf<'concludeAttempt' | 'failJob'>,
  { job, mediaJob }: Observed,
  row: Job,
  context: LeaderContext,
): Promise<false> {
  const { dependencies, slots } = context;
  const { creationTimestamp } = job?.metadata ?? {};
  const attempt = { row, begunAt: creationTimestamp === undefined ? null : new Date(creationTimestamp) };
  const outcome =
    action.do === 'concludeAttempt'
      ? await concludeAndClaim(attempt, action.end, dependencies)
      : await failJob(attempt, action.error, dependencies);
  if (outcome === 'next_claimed') slots.add({ id: row.id, attempt: row.attempt + 1 }, claimOf(mediaJob, row));
  else slots.claimed.remove(row.id);
  if (action.do === 'concludeAttempt' && action.end.kind === 'done') {
    for (const part of partKinds) {
      const pool = slots.running.end(partJobName(row, part));
      if (pool !== undefined) wakeWaiting(pool, context);
    }
  }
  // At the end of the job the plan deletes the key; here the next attempt gets one of its own.
  if (outcome !== 'job_ended' && needsContentKey(row)) await deleteKeySecrets(mediaJob, row, context);
  return false;
}

async function createJob(observed: Observed, row: Job, context: LeaderContext): Promise<boolean> {
  const { mediaJob, pool, film } = observed;
  if (pool.spec === null) throw new TypeError('a Job needs a pool');
  const { client, dependencies, slots } = context;
  if (needsContentKey(row)) await createKeySecret(mediaJob, row, context);
  const manifest = jobManifest(
    {
      job: row,
      mediaJob,
      pool: { name: pool.name, spec: pool.spec },
      report: dependencies.reportFor({ jobId: row.id, attempt: row.attempt }),
      keyEndpoint: keyEndpoint(dependencies.baseUrl, row.hash),
      part: film?.next == null ? null : { ...film.next, parallelism: film.parallelism },
    },
    dependencies.template,
  );
  const name = manifest.metadata?.name ?? '';
  // The part before it has ended, and leaves its slot.
  if (film !== null) slots.running.end(partJobName(row, film.part));
  slots.running.beginCreation(name, { jobId: row.id, pool: pool.name, pods: manifest.spec?.parallelism ?? 1 });
  try {
    await client.create(jobs, manifest);
  } catch (error) {
    // Created before, by this leader or the last one; the cache will show it.
    if (hasReason(error, 'AlreadyExists')) return true;
    slots.running.failCreation(name, row.id);
    if (!(await failIfRefused(row, error, dependencies))) {
      if (hasReason(error, 'Forbidden')) await showRefusal(observed, row, error.message, context);
      throw error;
    }
    slots.claimed.remove(row.id);
    return false;
  }
  return true;
}

/** Shows that the namespace's quota allows no more Jobs; the creation is retried with growing delays. */
async function showRefusal(observed: Observed, row: Job, message: string, context: LeaderContext): Promise<void> {
  const { mediaJob, pool } = observed;
  const problem = podProblemOf(null, message);
  if (problem?.phase !== 'quota_exceeded' || mediaJob.status?.phase === problem.phase) return;
  const status = activeStatus({ mediaJob, row, pool: pool.name, problem, nowMs: context.now() });
  const { attempt: _, ...withoutAttempt } = status;
  await writeStatus(mediaJob, withoutAttempt, context);
  recordProblem(observed, problem, context);
  await context.dependencies.jobs.recordWaiting({ jobId: row.id, attempt: row.attempt }, waitingReasonOf(problem));
}

async function scale({ metadata }: JobSnapshot, parallelism: number, client: KubeClient): Promise<true> {
  const patch = { metadata: { uid: metadata.uid }, spec: { parallelism } };
  await client.mergePatch(jobs, refOf({ metadata }), patch).catch(unlessDeleted);
  return true;
}

async function remove(resource: Resource<KubeObject>, object: KubeObject, client: KubeClient): Promise<true> {
  const { uid = '' } = object.metadata ?? {};
  await client.delete(resource, refOf(object), { uid, propagation: 'Background' }).catch(unlessDeleted);
  return true;
}
