import type { EventRecorder } from '#platform/kubernetes/events.ts';
import type { LeaderTerm } from '#platform/kubernetes/leader-elector.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import { TokenBucket } from '#platform/concurrency/token-bucket.ts';
import { BatchWork } from '../batches/batch-work.ts';
import { Caches } from '../cache/caches.ts';
import { OwnWrites } from '../cache/own-writes.ts';
import { jobManifestsOf } from '../manifests/job-manifest.ts';
import { PoolProblems } from '../pools/pool-problems.ts';
import { ProfileWork } from '../profiles/profile-work.ts';
import { reconcile, reconcileStream } from '../reconcile/reconcile.ts';
import { RolloutWork } from '../rollouts/rollout-work.ts';
import { StatusWriter } from '../reconcile/status-writer.ts';
import type { ClaimedJobs } from '../slots/claimed-jobs.ts';
import { imageSlotsOf } from '../slots/image-slots.ts';
import { PoolSlots } from '../slots/pool-slots.ts';
import { trimMediaJob } from '../snapshots/media-job.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import { Followers } from './followers.ts';
import { Resync } from './resync.ts';

/** MediaJobs that are reconciled at once; each costs one read of Postgres and a few writes at most. */
const reconcilesAtOnce = 16;
/** Streams that are concluded at once; each verifies up to some hundred thousand objects. */
const streamsAtOnce = 4;
/** Status writes that only report progress: each costs the API server as much as everything else of a short job. */
const progressRate = { perSecond: 5, burst: 25 };

export interface TermInput {
  readonly dependencies: MediaJobDependencies;
  readonly term: LeaderTerm;
  readonly claimed: ClaimedJobs;
  readonly recorder: EventRecorder;
}

/**
 * Everything that runs during one term of a leader. Each part declares what it needs; only this place knows all of
 * them.
 */
export function composeTerm({ dependencies, term, claimed, recorder }: TermInput) {
  const { runnerNamespace: namespace, log, relistEveryMs, jobs, turns, clock, mark } = dependencies;
  const now = () => clock().getTime();
  const client = dependencies.client.guardedBy(term.guard);
  const trim = (mediaJob: MediaJob) => trimMediaJob(mark.withoutForgedLabels(mediaJob));
  const times = relistEveryMs === undefined ? {} : { relistEveryMs };
  const caches = new Caches({ client: dependencies.client, namespace, log, trimMediaJob: trim, ...times });
  const specOf = (pool: string) => caches.pools.get(namespace, pool)?.spec ?? { concurrency: 0 };
  const slots = new PoolSlots({
    claimed,
    concurrencyOf: (pool) => specOf(pool).concurrency,
    imageSlotsOf: (pool) => imageSlotsOf(pool, specOf(pool)),
    jobs,
    turns,
    isServed: (pool, first) => batchWork.batches.isServed(pool, first),
    resumed: (jobId) => workQueue.add(caches.keyOfJob(jobId) ?? ''),
  });
  turns.holders = {
    heldBy: (jobId) => slots.chunkPods.heldBy(jobId),
    isOwed: (pool, key) => slots.chunkPods.isOwed(pool, key),
    resume: (pool, key) => slots.resume(pool, key),
  };
  const ownWrites = new OwnWrites(trim);
  const problems = new PoolProblems();
  const handle = (key: string) => batchWork.reconcile(key) ?? reconcile(key, ports);
  const workQueue = new WorkQueue({ name: 'mediajobs', handle, concurrency: reconcilesAtOnce, log });
  const handleStream = (key: string) => reconcileStream(key, ports);
  const streams = new WorkQueue({ name: 'streams', handle: handleStream, concurrency: streamsAtOnce, log });
  /** Reconciles the jobs that wait for a slot of a pool, highest priority first. */
  const wake = (pool: string) => {
    for (const jobId of slots.waitingIn(pool)) {
      const key = caches.keyOfJob(jobId) ?? batchWork.keyOf(jobId);
      if (key !== undefined) workQueue.add(key);
    }
  };
  const ports = {
    ...dependencies,
    client,
    caches,
    slots,
    ownWrites,
    recorder,
    followers: new Followers(),
    problems,
    profileWaiters: new Set<string>(),
    statuses: new StatusWriter({ client, ownWrites, recorder, problems, now }),
    progressRate: new TokenBucket(progressRate),
    workQueue,
    streams,
    wake,
    now,
    manifests: jobManifestsOf(dependencies.template),
  };
  const batchWork = new BatchWork(ports);
  const resync = new Resync(ports, batchWork.batches);
  const [profileWork, rolloutWork] = [new ProfileWork(ports), new RolloutWork(ports)];
  return { ports, batchWork, resync, profileWork, rolloutWork, workQueue, streams };
}

/** The parts that work during one term. */
export type Term = ReturnType<typeof composeTerm>;
