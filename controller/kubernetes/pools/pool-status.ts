import { poolOfQueue, queueNames } from '#domain/jobs/routing.ts';
import type { RunnerPoolStatus } from '#domain/kubernetes/runner-pool.ts';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { LeaderContext } from '../leader-context.ts';
import { WaitingJobs } from './waiting-jobs.ts';
import { labels } from '../manifests/names.ts';

/** The numbers of a pool change with every job, so they are written at this interval. */
const everyMs = 10_000;
const errorLengthMax = 1_000;

/** Keeps the status of the pools and the metric of waiting jobs up to date until `signal` aborts; writes only changes. */
export async function poolStatusLoop(context: LeaderContext, signal: AbortSignal): Promise<void> {
  const waiting = new WaitingJobs(context.dependencies.metrics);
  while (!signal.aborted) {
    waiting.count(context.caches.mediaJobs.values());
    await writeChanges(context, signal).catch((error: unknown) => {
      if (!signal.aborted) context.dependencies.log.warn({ err: error }, 'RunnerPool status could not be written');
    });
    await pause(everyMs, signal);
  }
  // The next leader counts them.
  waiting.count([]);
}

async function writeChanges(context: LeaderContext, signal: AbortSignal): Promise<void> {
  const { client, caches, dependencies, problems, slots } = context;
  const depths = await dependencies.queue.depth();
  for (const { metadata, status } of caches.pools.values()) {
    const name = metadata?.name ?? '';
    const queue = queueNames.find((each) => poolOfQueue[each] === name);
    const depth = queue === undefined ? null : depths[queue];
    const wanted: RunnerPoolStatus = {
      observedGeneration: metadata?.generation ?? 0,
      active: slots.claimed.count(name),
      queued: depth === null ? 0 : depth.pending + depth.retry,
      lastError: problems.lastOf(name, caches.mediaJobs.values()).slice(0, errorLengthMax),
      selector: `${labels.pool}=${name}`,
    };
    const isChanged = Object.entries(wanted).some(
      ([field, value]) => status?.[field as keyof RunnerPoolStatus] !== value,
    );
    if (!isChanged) continue;
    const ref = { namespace: dependencies.runnerNamespace, name };
    await client.mergePatch(runnerPools, ref, { status: wanted }, { subresource: 'status', signal });
  }
}
