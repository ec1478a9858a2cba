import { poolOfQueue, type QueueName, queueNames } from '#domain/jobs/routing.ts';
import type { RunnerPoolStatus } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { type RunnerPool, runnerPools } from '#platform/kubernetes/objects.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { QueueDepth } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { labels } from '../manifests/names.ts';

interface PoolStatusOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pools: () => readonly RunnerPool[];
  readonly active: (pool: string) => number;
  readonly depth: () => Promise<Readonly<Record<QueueName, QueueDepth>>>;
  /** What keeps a job of the pool from running now; '' for nothing. */
  readonly lastError: (pool: string) => string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Numbers that change with every job are written this often, not with every job. */
const everyMs = 10_000;
const errorLengthMax = 1_000;

/** Keeps the status of the pools up to date until `signal` aborts; writes what has changed and nothing else. */
export async function poolStatusLoop(o: PoolStatusOptions): Promise<void> {
  while (!o.signal.aborted) {
    await writeChanged(o).catch((error: unknown) => {
      if (!o.signal.aborted) o.log.warn({ err: error }, 'RunnerPool status could not be written');
    });
    await pause(everyMs, o.signal);
  }
}

async function writeChanged(o: PoolStatusOptions): Promise<void> {
  const depths = await o.depth();
  for (const { metadata, status } of o.pools()) {
    const name = metadata?.name ?? '';
    const queue = queueNames.find((each) => poolOfQueue[each] === name);
    const depth = queue === undefined ? null : depths[queue];
    const wanted: RunnerPoolStatus = {
      observedGeneration: metadata?.generation ?? 0,
      active: o.active(name),
      queued: depth === null ? 0 : depth.pending + depth.retry,
      lastError: o.lastError(name).slice(0, errorLengthMax),
      selector: `${labels.pool}=${name}`,
    };
    const isNews = Object.entries(wanted).some(([field, value]) => status?.[field as keyof RunnerPoolStatus] !== value);
    if (!isNews) continue;
    const ref = { namespace: o.namespace, name };
    await o.client.mergePatch(runnerPools, ref, { status: wanted }, { subresource: 'status', signal: o.signal });
  }
}
