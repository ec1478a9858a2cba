import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { backoffMs, pause } from '#platform/lifecycle/backoff.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

interface PoolsToEnsure {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pools: Readonly<Record<string, RunnerPoolSpec>>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const retryBackoff = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Makes the RunnerPools that the settings name, and keeps all of them but the concurrency as the settings say: that is
 * sized while the system runs, by `kubectl scale` or an autoscaler. A chart cannot hold them, since Helm installs no
 * custom resource beside its own definition. It is tried until it is done or `signal` aborts.
 *
 * The first write holds the concurrency alone, and is no apply: so an applied field that the settings leave out later
 * goes, and the concurrency never does.
 */
export async function ensurePools({ log, signal, ...rest }: PoolsToEnsure): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      await makePools(rest);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const delayMs = backoffMs(failures, retryBackoff);
      log.warn({ err: error, retry_in_ms: Math.round(delayMs) }, 'RunnerPools could not be written');
      await pause(delayMs, signal);
    }
  }
}

async function makePools({ client, namespace, pools }: Omit<PoolsToEnsure, 'log' | 'signal'>): Promise<void> {
  for (const [name, { concurrency, ...spec }] of Object.entries(pools)) {
    const isThere = await client.get(runnerPools, { namespace, name }).then(
      () => true,
      (error: unknown) => {
        if (hasReason(error, 'NotFound')) return false;
        throw error;
      },
    );
    if (!isThere) {
      await client.create(runnerPools, { metadata: { namespace, name }, spec: { concurrency } }).catch(unlessThere);
    }
    await client.apply(runnerPools, { metadata: { namespace, name }, spec: spec as RunnerPoolSpec });
  }
}

function unlessThere(error: unknown): void {
  if (!hasReason(error, 'AlreadyExists')) throw error;
}
