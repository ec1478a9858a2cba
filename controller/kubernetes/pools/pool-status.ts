import { isDeepStrictEqual } from 'node:util';
import type { RunnerPoolStatus } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { Caches } from '../cache/caches.ts';
import type { RunningJobs } from '../slots/running-jobs.ts';
import { type ClusterCopyPorts, copyPools } from './cluster-copy.ts';
import type { PoolProblems } from './pool-problems.ts';
import { PoolGauges, type PoolNumbers } from './pool-gauges.ts';
import { readyOf } from './pool-ready.ts';
import { poolTasksOf } from './pool-tasks.ts';
import { WaitingJobs } from './waiting-jobs.ts';
import { labels } from '../snapshots/names.ts';

/** The numbers of a pool change with every job, so they are written at this interval. */
const everyMs = 10_000;
const errorLengthMax = 1_000;

/** The ports that the status of the pools needs. */
export interface PoolStatusPorts extends ClusterCopyPorts {
  readonly client: ClusterCopyPorts['client'] & Pick<KubeClient, 'mergePatch'>;
  readonly caches: Pick<Caches, 'mediaJobs' | 'pools'>;
  readonly slots: { readonly running: Pick<RunningJobs, 'count'> };
  readonly queue: Pick<TicketQueue, 'depth'>;
  readonly problems: Pick<PoolProblems, 'lastOf'>;
  readonly storageWatch: { readonly problem: string | null };
  readonly metrics: Metrics;
  readonly now: () => number;
}

/**
 * Keeps the status of the pools, their copy and the metric of waiting jobs up to date until `signal` aborts; writes
 * only changes.
 */
export async function poolStatusLoop(ports: PoolStatusPorts, signal: AbortSignal): Promise<void> {
  const waiting = new WaitingJobs(ports.metrics);
  const gauges = new PoolGauges(ports.metrics);
  while (!signal.aborted) {
    waiting.count(ports.caches.mediaJobs.values());
    const update = async () => {
      const numbers = await numbersOf(ports);
      gauges.show(numbers);
      await writeChanges(ports, numbers, signal);
    };
    await update().catch((error: unknown) => {
      if (!signal.aborted) ports.log.warn({ err: error }, 'RunnerPool status could not be written');
    });
    await copyPools(ports).catch((error: unknown) => {
      if (!signal.aborted) ports.log.warn({ err: error }, 'RunnerPools could not be copied');
    });
    await pause(everyMs, signal);
  }
  // The next leader counts them.
  waiting.count([]);
  gauges.show(new Map());
}

/** The numbers of what each pool has to do, and may. */
async function numbersOf({ caches, queue, poolCopy, slots }: PoolStatusPorts): Promise<Map<string, PoolNumbers>> {
  const [depths, jobs] = await Promise.all([queue.depth(), poolCopy.waitingJobs()]);
  const pools = [...caches.pools.values()].map(({ metadata, spec: { concurrency } }) => {
    const name = metadata?.name ?? '';
    return [name, { concurrency, active: slots.running.count(name), ...poolTasksOf(name, { depths, jobs }) }] as const;
  });
  return new Map(pools);
}

async function writeChanges(
  ports: PoolStatusPorts,
  numbers: ReadonlyMap<string, PoolNumbers>,
  signal: AbortSignal,
): Promise<void> {
  const { client, caches, problems, storageWatch, now, runnerNamespace: namespace } = ports;
  for (const { metadata, status } of caches.pools.values()) {
    const name = metadata?.name ?? '';
    const { active, pending, retry } = numbers.get(name) ?? { active: 0, pending: 0, retry: 0 };
    const lastError = problems.lastOf(name, caches.mediaJobs.values(), storageWatch.problem).slice(0, errorLengthMax);
    const wanted: RunnerPoolStatus = {
      observedGeneration: metadata?.generation ?? 0,
      active,
      queued: pending + retry,
      lastError,
      selector: `${labels.pool}=${name}`,
      conditions: [readyOf(lastError, { observedGeneration: metadata?.generation ?? 0, before: status, nowMs: now() })],
    };
    const isChanged = Object.entries(wanted).some(
      ([field, value]) => !isDeepStrictEqual(status?.[field as keyof RunnerPoolStatus], value),
    );
    if (!isChanged) continue;
    await client.mergePatch(runnerPools, { namespace, name }, { status: wanted }, { subresource: 'status', signal });
  }
}
