import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { backoffMs, pause } from '#platform/lifecycle/backoff.ts';
import { type ClusterCopyPorts, restoreCluster } from './cluster-copy.ts';
import { isSizedByOthers, sizeManager } from './pool-size.ts';

const retryBackoff = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Creates and updates the RunnerPools of the settings, in a rebuilt cluster after what the copy has; retried until it
 * succeeds or `signal` aborts. The chart cannot create them, since Helm installs no custom resource together with its
 * definition.
 *
 * The settings size a pool until another field manager, such as `kubectl scale` or an autoscaler, sets its concurrency.
 * The concurrency has a field manager of its own, so that a scaled pool follows the settings in every other field.
 */
export async function ensurePools(ports: ClusterCopyPorts, signal: AbortSignal): Promise<void> {
  const { pools, log } = ports;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      await restoreCluster(ports);
      for (const [name, spec] of Object.entries(pools)) await writePool(name, spec, ports);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const delayMs = backoffMs(failures, retryBackoff);
      log.warn({ err: error, retry_in_ms: Math.round(delayMs) }, 'RunnerPools could not be written');
      await pause(delayMs, signal);
    }
  }
}

async function writePool(
  name: string,
  { concurrency, ...spec }: RunnerPoolSpec,
  { client, runnerNamespace: namespace }: ClusterCopyPorts,
): Promise<void> {
  const metadata = { namespace, name };
  const existing = await client.get(runnerPools, metadata).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return null;
    throw error;
  });
  if (existing === null || !isSizedByOthers(existing)) {
    await client.apply(runnerPools, { metadata, spec: { concurrency } }, { manager: sizeManager });
  }
  await client.apply(runnerPools, { metadata, spec: spec as RunnerPoolSpec });
}
