import { vi } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import type { Counted, QueuedKey, PoolLook } from '#platform/postgres/turn-rows.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { PoolTurns } from '../../controller/execution/pool-turns.ts';
import type { BatchPorts } from '../../controller/kubernetes/batches/batch-work.ts';
import { Batches } from '../../controller/kubernetes/batches/batches.ts';
import { ClaimedJobs } from '../../controller/kubernetes/slots/claimed-jobs.ts';
import { PoolSlots } from '../../controller/kubernetes/slots/pool-slots.ts';
import type { JobSnapshot } from '../../controller/kubernetes/snapshots/job.ts';
import { exampleJob } from '../example-job.ts';

// The batches of a leader without a cluster: rows, clock and caches are what a test says.

export const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const minuteMs = 60_000;

interface World {
  nowMs: number;
  /** The ids of waiting image jobs. */
  waiting: string[];
  /** The API keys of jobs that have one, by the id of the job. */
  readonly keys: Map<string, string>;
  /** Keys that wait with what is no image. */
  others: string[];
  /** By the id of the job. */
  readonly owners: Map<string, string>;
  readonly withMediaJob: Set<string>;
  isStorageAway: boolean;
  atWork: number;
  reads: number;
  batchJob: JobSnapshot | null;
}

/** The register of batches in a pool of four slots, whose batches do at most three tasks. */
export function register(waitingJobs: number) {
  const ids = Array.from({ length: waitingJobs }, (_, n) => idOf(n));
  const world: World = {
    nowMs: 1_000_000,
    waiting: ids,
    keys: new Map(),
    others: [],
    owners: new Map(),
    withMediaJob: new Set(),
    isStorageAway: false,
    atWork: 0,
    reads: 0,
    batchJob: null,
  };
  const jobs = {
    batchables: async (limit: number) => {
      world.reads += 1;
      return world.waiting.slice(0, limit).map((id) => ({ id, key: world.keys.get(id) ?? '' }));
    },
    lookAtPool: async (pool: string, { known }: Counted): Promise<PoolLook> => {
      const keys = new Set([...world.waiting.map((id) => world.keys.get(id) ?? ''), ...world.others]);
      const waiting = [...keys].map((key) => ({ key, weight: 1, isBackground: false }) as QueuedKey);
      const counted = { pool, weight: 1, isBackground: false, seconds: 1 };
      const runs = [...world.owners.keys()].map((id) => ({
        id,
        attempt: 1,
        key: world.keys.get(id) ?? '',
        ...counted,
      }));
      const ended = known
        .filter(({ id }) => !world.owners.has(id))
        .map((attempt) => ({ ...attempt, seconds: 1, measured: 1 }));
      return { waiting, running: runs, ended };
    },
    waitsForBatch: async (id: string) => world.waiting.includes(id),
    countClaimed: async () => world.atWork,
    claim: async ({ jobId: id, owner }: { jobId: string; owner: string }): Promise<Job | null> => {
      if (!world.waiting.includes(id)) return null;
      world.waiting = world.waiting.filter((other) => other !== id);
      world.owners.set(id, owner);
      return exampleJob({ id, type: 'image:thumbnail', keyId: world.keys.get(id) ?? null });
    },
    claimedUnder: async (prefix: string) =>
      [...world.owners]
        .filter(([, owner]) => owner.startsWith(prefix))
        .map(([id, owner]) => ({ id, attempt: 1, owner })),
    // A job that has ended: nothing more follows from the end of its task.
    find: vi.fn<(id: string) => Promise<Job | null>>(async (id) =>
      exampleJob({ id, type: 'image:thumbnail', status: 'completed' }),
    ),
  };
  const turns = new PoolTurns({ jobs, owner: 'kubernetes', now: () => world.nowMs });
  const slots = new PoolSlots({
    claimed: new ClaimedJobs(),
    concurrencyOf: () => 4,
    imageSlotsOf: () => 0,
    jobs: { claim: async () => null },
    turns,
  });
  const queue = { add: vi.fn<() => Promise<void>>(async () => undefined), remove: async () => undefined };
  const deleted = vi.fn<() => Promise<void>>(async () => undefined);
  let made = 100;
  const ports = {
    jobs,
    turns,
    slots,
    queue,
    client: { delete: deleted },
    caches: {
      batchJobs: () => [],
      keyOfJob: (id: string) => (world.withMediaJob.has(id) ? `r/${id}` : undefined),
      job: () => world.batchJob,
      podOf: () => null,
      podCreationFailures: { of: async () => null },
      pools: { get: () => ({ spec: { concurrency: 4, activeDeadlineSeconds: 60 } }) },
    },
    manifests: { isOutdated: () => false },
    problems: { ofBatches: new Map() },
    pendingDeadlineMs: 2 * minuteMs,
    workQueue: { add: vi.fn<(key: string) => void>() },
    batchSettings: { min: 3, tasksMax: 3, tasksOf: () => ({ url: '', token: '' }) },
    storageWatch: {
      get isAway() {
        return world.isStorageAway;
      },
    },
    template: { maxFileSizeBytes: 1_000 },
    metrics: { queueWait: { observe: () => undefined }, poolWait: { observe: () => undefined } },
    runnerNamespace: 'r',
    wake: () => undefined,
    randomUuid: () => idOf((made += 1)),
    log: createLogger({ level: 'silent', name: 'test' }),
    now: () => world.nowMs,
  } as unknown as BatchPorts;
  const batches = new Batches(ports);
  return { world, ports, batches, slots, queue, deleted, jobs };
}
