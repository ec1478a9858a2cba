import { isJobProblem } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import { type UnitKind, unitKindRow } from '#domain/work/unit.ts';
import { type NextUnits, nextUnits } from '#jobs/completion/next-units.ts';
import { turnMessage } from '#domain/jobs/turns.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { pendingChunksOf } from '../snapshots/units.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Caches } from '../cache/caches.ts';
import type { PoolTurns } from '../../execution/pool-turns.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import { attemptJobName, unitJobName, unitJobsOf } from '../snapshots/names.ts';
import { endOfJob, type JobSnapshot, unfinishedOf } from '../snapshots/job.ts';
import { hasStarted, isWorking, isPodOver, type PodSnapshot } from '../snapshots/pod.ts';
import { isClaimed } from '../plan/attempt.ts';
import { endOfAttempt } from '../plan/attempt-end.ts';
import type { ObservedUnits } from '../plan/observed.ts';

/** The ports that the observation of units needs. */
export interface UnitPorts {
  readonly caches: Pick<Caches, 'job' | 'podOf' | 'podsOf'>;
  readonly slots: Pick<PoolSlots, 'chunkPods' | 'running' | 'wanting'>;
  readonly turns: Pick<PoolTurns, 'runningIn'>;
  readonly media: ObjectStore;
  readonly storageWatch: {
    readonly isAway: boolean;
    /** Which bucket is away and why, for people. */
    readonly problem: string | null;
    isOutage(): Promise<boolean>;
  };
  readonly now: () => number;
}

interface AttemptToObserve {
  readonly row: Job;
  readonly mediaJob: MediaJob;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec | null };
}

/**
 * The current units of an attempt; `unread` where the media bucket has to be read and may not be. The Jobs of the
 * attempt and the chunk results in the bucket show its progress, to the next leader too. The bucket is read only when
 * units have ended or an attempt begins.
 */
export async function observeUnits(
  attempt: AttemptToObserve,
  ports: UnitPorts,
  readsBucket: boolean,
): Promise<ObservedUnits | 'unread'> {
  const { row, mediaJob } = attempt;
  const { caches } = ports;
  const all = unitJobsOf(row).map(({ kind, name }) => ({ kind, name, job: caches.job(name) }));
  const current = all.findLast(({ job }) => job !== null) ?? all[0];
  if (current === undefined) throw new TypeError('an attempt has at least one unit');
  const { kind, name, job } = current;
  const isWaiting = isClaimed(row) && mediaJob.spec.suspend !== true;
  const found = isWaiting ? await nextAfter({ row, kind, job, readsBucket }, ports) : null;
  if (found === 'unread') return found;
  const next = found === 'away' ? null : found;
  const isOfJob = (pod: PodSnapshot) => job !== null && isPodOf(pod, job);
  const pods = unitKindRow(kind).isParallel ? caches.podsOf(name).filter(isOfJob) : [];
  return {
    kind,
    pending: pendingChunksOf(job?.metadata.annotations),
    pods,
    ...(await parallelismOf(attempt, { job, next, pods }, ports)),
    next,
    isUnread: found === 'away',
  };
}

interface UnitsAtWork {
  readonly job: JobSnapshot | null;
  readonly next: NextUnits | null;
  readonly pods: readonly PodSnapshot[];
}

/** How many units may run at once, 1 for a kind that runs alone, and whose turn it is while none may. */
async function parallelismOf(
  { row, mediaJob, pool }: AttemptToObserve,
  { job, next, pods }: UnitsAtWork,
  { slots, turns, now }: UnitPorts,
): Promise<Pick<ObservedUnits, 'parallelism' | 'turn'>> {
  const indexed = next === null ? job?.indexed : undefined;
  const left = next === null ? (indexed === undefined ? 0 : unfinishedOf(indexed)) : next.chunks.length;
  if (left === 0 || (indexed?.completions ?? left) === 1) {
    slots.chunkPods.keepSlot(row.id);
    return { parallelism: indexed?.parallelism ?? 1, turn: null };
  }
  const keepsSlot = Boolean(pool.spec?.kueueQueue);
  // Kueue has admitted this number of pods, and would start over with another.
  if (indexed !== undefined && keepsSlot) return { parallelism: indexed.parallelism, turn: null };
  const podsMax = Math.min(left, pool.spec?.chunkParallelism ?? Infinity, mediaJob.spec.chunks ?? Infinity);
  const order = await slots.wanting(pool.name);
  const key = row.keyId ?? '';
  const running = turns.runningIn(pool.name);
  const parallelism = slots.chunkPods.of(
    {
      name: unitJobName(row, 'chunk'),
      jobId: row.id,
      pool: pool.name,
      key,
      weight: running.find((one) => one.key === key)?.weight ?? 1,
      podsMax,
      parallelism: indexed?.parallelism ?? null,
      started: pods.filter((pod) => hasStarted(pod) && !isPodOver(pod)).length,
      keepsSlot,
    },
    order[0]?.key,
    now(),
  );
  if (!slots.chunkPods.isWaiting(row.id)) return { parallelism, turn: null };
  return { parallelism, turn: turnMessage(key, { order, running }) };
}

interface CurrentUnits {
  readonly row: Job;
  readonly kind: UnitKind;
  readonly job: JobSnapshot | null;
  readonly readsBucket: boolean;
}

/** The units that follow those which have ended; null while they run, and after the last. */
async function nextAfter(
  { row, kind, job, readsBucket }: CurrentUnits,
  ports: UnitPorts,
): Promise<NextUnits | null | 'unread' | 'away'> {
  const { caches, slots, now } = ports;
  const isLast = unitKindRow(kind).follows.length === 0;
  if (job === null) {
    const mayBeSplit = !isLast && row.attempt > 1 && slots.running.isNeverCreated(attemptJobName(row));
    if (!mayBeSplit) return { kind, split: null, chunks: [] };
    return readNext(row, null, readsBucket, ports);
  }
  if (isLast) return null;
  const hasEnded = unitKindRow(kind).isParallel
    ? endOfJob(job)?.type === 'Complete'
    : endOfAttempt({ attempt: row.attempt, job, pod: caches.podOf(job.metadata.name ?? '') }, now())?.kind === 'done';
  if (!hasEnded) return null;
  return readNext(row, kind, readsBucket, ports);
}

/** Reads from the media bucket which units follow; a bucket that is away is not asked, and its error is no error. */
async function readNext(
  row: Job,
  after: UnitKind | null,
  readsBucket: boolean,
  { media, storageWatch }: UnitPorts,
): Promise<NextUnits | null | 'unread' | 'away'> {
  if (storageWatch.isAway) return 'away';
  if (!readsBucket) return 'unread';
  try {
    return await nextUnits(row, after, media);
  } catch (error) {
    if (isJobProblem(error) && (await storageWatch.isOutage())) return 'away';
    throw error;
  }
}

/** Whether a pod is of this Job, and not of another one that had its name. */
function isPodOf({ metadata }: PodSnapshot, job: JobSnapshot): boolean {
  return (metadata.labels?.['batch.kubernetes.io/controller-uid'] ?? job.metadata.uid) === job.metadata.uid;
}

/** The pod that is shown for units that run at once: one that runs on a node that answers, else one that waits. */
export function podOfUnits(
  pods: readonly PodSnapshot[],
  isOnReadyNode: (pod: PodSnapshot) => boolean,
): PodSnapshot | null {
  const active = pods.filter((pod) => !isPodOver(pod));
  const working = active.filter(isWorking);
  return working.find(isOnReadyNode) ?? working[0] ?? active[0] ?? pods.at(-1) ?? null;
}
