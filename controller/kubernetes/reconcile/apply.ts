import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { keyEndpoint } from '#domain/playback/endpoints.ts';
import { needsContentKey } from '#domain/work/access.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason, unlessDeleted } from '#platform/kubernetes/errors.ts';
import { jobs as batchJobs, type KubeObject, mediaJobs, type Resource } from '#platform/kubernetes/objects.ts';
import { refOf } from '#platform/kubernetes/store.ts';
import type { TokenBucket } from '#platform/concurrency/token-bucket.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { JobManifests } from '../manifests/job-manifest.ts';
import type { Action, Observed } from '../plan/observed.ts';
import { podProblemOf, waitingReasonOf } from '../plan/pod-problem.ts';
import { activeStatus } from '../plan/status.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import { unitJobName, unitJobsOf } from '../snapshots/names.ts';
import { claimOf } from '../snapshots/routing.ts';
import { type AdoptPorts, applyAdopt } from './adopt.ts';
import { concludeAndClaim, type ConcludeDependencies, failIfRefused, failJob } from './conclude.ts';
import { createKeySecret, deleteKeySecrets } from './key-secret.ts';
import type { Outcome } from './outcome.ts';
import { allRunsOf, keepRunsOf, type RunCaches } from './unit-runs.ts';

/** The ports that the actions of a plan need. */
export type ApplyPorts = AdoptPorts &
  ConcludeDependencies & {
    readonly client: KubeClient;
    readonly jobs: Pick<JobStore, 'report' | 'recordWaiting' | 'keepRuns' | 'keptRuns'>;
    readonly caches: AdoptPorts['caches'] & RunCaches;
    readonly contentKeys: Pick<ContentKeyStore, 'findOrCreate'>;
    readonly slots: AdoptPorts['slots'] & Pick<PoolSlots, 'add' | 'claimed' | 'running'>;
    readonly manifests: Pick<JobManifests, 'manifestOf' | 'isOfOtherVersion'>;
    readonly baseUrl: string;
    /** The address to which the runner of an attempt POSTs its reports, and its token; null: none. */
    readonly reportFor: (attempt: { jobId: string; attempt: number }) => { url: string; token: string } | null;
    /** Reconciles the jobs that wait for a slot of a pool. */
    readonly wake: (pool: string) => void;
    readonly progressRate: Pick<TokenBucket, 'take'>;
  };

type ActionOf<Kind extends Action['do']> = Extract<Action, { do: Kind }>;

type Actions = {
  readonly [Kind in Action['do']]: (
    action: ActionOf<Kind>,
    observed: Observed,
    ports: ApplyPorts,
  ) => Promise<Outcome> | Outcome;
};

/**
 * The effect of each action; each may be repeated. A conflict with a deterministic name means that it was done before.
 */
const actions: Actions = {
  adopt: (_, { mediaJob }, ports) => applyAdopt(mediaJob, ports),
  createJob: (_, observed, ports) => createJob(observed, rowOf(observed), ports),
  scaleJob: async ({ job: { metadata }, parallelism }, _, { client }): Promise<Outcome> => {
    const patch = { metadata: { uid: metadata.uid }, spec: { parallelism } };
    await client.mergePatch(batchJobs, refOf({ metadata }), patch).catch(unlessDeleted);
    return 'continue';
  },
  deleteKeys: async (_, observed, ports): Promise<Outcome> => {
    await deleteKeySecrets(observed.mediaJob, rowOf(observed), ports);
    return 'continue';
  },
  deleteJob: async ({ job }, { row }, ports): Promise<Outcome> => {
    if (row !== null) await keepRunsOf(row, job.metadata.name ?? '', ports);
    return remove(batchJobs, job, ports.client);
  },
  deleteMediaJob: (_, { mediaJob }, { client }) => remove(mediaJobs, mediaJob, client),
  concludeAttempt: applyEnd,
  failJob: applyEnd,
  reportPhase,
  writeStatus: async ({ status, isProgress }, { mediaJob }, { statuses, progressRate, now }): Promise<Outcome> => {
    if (isProgress === true) progressRate.take(now());
    await statuses.write(mediaJob, status);
    return 'continue';
  },
  recordWaiting: async ({ reason }, observed, { jobs }): Promise<Outcome> => {
    const { id, attempt } = rowOf(observed);
    await jobs.recordWaiting({ jobId: id, attempt }, reason);
    return 'continue';
  },
  recordProblem: ({ problem }, { mediaJob, pool }, { statuses }) => {
    statuses.recordProblem(mediaJob, pool.name, problem);
    return 'continue';
  },
};

/** Does one action of a plan. */
export async function applyAction<Kind extends Action['do']>(
  action: ActionOf<Kind>,
  observed: Observed,
  ports: ApplyPorts,
): Promise<Outcome> {
  return (actions as { readonly [Each in Kind]: Actions[Each] })[action.do](action, observed, ports);
}

function rowOf({ row }: Observed): Job {
  if (row === null) throw new TypeError('the action needs a row');
  return row;
}

async function reportPhase(
  { phase, fraction = 0 }: ActionOf<'reportPhase'>,
  observed: Observed,
  { jobs }: ApplyPorts,
): Promise<Outcome> {
  const row = rowOf(observed);
  // A suspension keeps the progress of the attempt.
  const isSuspension = phase === 'suspended' || row.phase === 'suspended';
  const reached = progressOf(phase, fraction);
  const progress = isSuspension ? Math.max(row.progress, reached) : reached;
  await jobs.report({ jobId: row.id, attempt: row.attempt, phase, progress });
  return 'continue';
}

/** The attempt ended, or the job fails. */
async function applyEnd(
  action: ActionOf<'concludeAttempt' | 'failJob'>,
  observed: Observed,
  ports: ApplyPorts,
): Promise<Outcome> {
  const row = rowOf(observed);
  const { current, mediaJob } = observed;
  const { slots } = ports;
  const { creationTimestamp } = current.job?.metadata ?? {};
  const begunAt = creationTimestamp === undefined ? null : new Date(creationTimestamp);
  const units = await allRunsOf(row, ports);
  const attempt = { row, begunAt, units, isOfOtherVersion: isOfOtherVersion(row, ports) };
  const { next } =
    action.do === 'concludeAttempt'
      ? await concludeAndClaim(attempt, action.end, ports)
      : await failJob(attempt, action.error, ports);
  if (next === 'claimed') slots.add({ id: row.id, attempt: row.attempt + 1 }, claimOf(mediaJob, row));
  else slots.claimed.remove(row.id);
  if (action.do === 'concludeAttempt' && action.end.kind === 'done') {
    for (const { name } of unitJobsOf(row)) {
      const pool = slots.running.end(name);
      if (pool !== undefined) ports.wake(pool);
    }
  }
  // At the end of the job the plan deletes the key; here the next attempt gets one of its own.
  if (next !== null && needsContentKey(row)) await deleteKeySecrets(mediaJob, row, ports);
  return 'observe_again';
}

/** Whether any unit of an attempt was made by another version, whose output or plan this one may not understand. */
function isOfOtherVersion(row: Job, { caches, manifests }: ApplyPorts): boolean {
  return unitJobsOf(row).some(({ name }) => {
    const job = caches.job(name);
    return job !== null && manifests.isOfOtherVersion(job.metadata);
  });
}

async function createJob(observed: Observed, row: Job, ports: ApplyPorts): Promise<Outcome> {
  const { mediaJob, pool, units } = observed;
  if (pool.spec === null || units?.next == null) throw new TypeError('a Job needs a pool and units');
  const { client, slots } = ports;
  if (needsContentKey(row)) await createKeySecret(mediaJob, row, ports);
  const manifest = ports.manifests.manifestOf({
    job: row,
    mediaJob,
    pool: { name: pool.name, spec: pool.spec },
    report: ports.reportFor({ jobId: row.id, attempt: row.attempt }),
    keyEndpoint: keyEndpoint(ports.baseUrl, row.hash),
    units: { ...units.next, parallelism: units.parallelism },
  });
  const name = manifest.metadata?.name ?? '';
  // The units before have ended and leave their slot.
  slots.running.end(unitJobName(row, units.kind));
  slots.running.beginCreation(name, { jobId: row.id, pool: pool.name, pods: manifest.spec?.parallelism ?? 1 });
  try {
    await client.create(batchJobs, manifest);
  } catch (error) {
    // Created before, by this leader or the last one; the cache will show it.
    if (hasReason(error, 'AlreadyExists')) return 'continue';
    slots.running.failCreation(name, row.id);
    if (!(await failIfRefused(row, error, ports))) {
      if (hasReason(error, 'Forbidden')) await showRefusal(observed, row, error.message, ports);
      throw error;
    }
    slots.claimed.remove(row.id);
    return 'observe_again';
  }
  return 'continue';
}

/** Shows that the namespace's quota allows no more Jobs; the creation is retried with growing delays. */
async function showRefusal(observed: Observed, row: Job, message: string, ports: ApplyPorts): Promise<void> {
  const { mediaJob, pool } = observed;
  const { statuses, jobs, now } = ports;
  const problem = podProblemOf(null, message);
  if (problem?.phase !== 'quota_exceeded' || mediaJob.status?.phase === problem.phase) return;
  const status = activeStatus({ mediaJob, row, pool: pool.name, problem, nowMs: now() });
  const { attempt: _, ...withoutAttempt } = status;
  await statuses.write(mediaJob, withoutAttempt);
  statuses.recordProblem(mediaJob, pool.name, problem);
  await jobs.recordWaiting({ jobId: row.id, attempt: row.attempt }, waitingReasonOf(problem));
}

async function remove(
  resource: Resource<KubeObject>,
  object: KubeObject,
  client: Pick<KubeClient, 'delete'>,
): Promise<Outcome> {
  const { uid = '' } = object.metadata ?? {};
  await client.delete(resource, refOf(object), { uid, propagation: 'Background' }).catch(unlessDeleted);
  return 'continue';
}
