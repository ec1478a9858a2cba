import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { runnerPools } from '#platform/kubernetes/objects.ts';

interface PoolsToEnsure {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pools: Readonly<Record<string, RunnerPoolSpec>>;
}

/**
 * Makes the RunnerPools that the settings name, and keeps all of them but the concurrency as the settings say: that is
 * sized while the system runs, by `kubectl scale` or an autoscaler. A chart cannot hold them, since Helm installs no
 * custom resource beside its own definition.
 *
 * The first write holds the concurrency alone, and is no apply: so an applied field that the settings leave out later
 * goes, and the concurrency never does.
 */
export async function ensurePools({ client, namespace, pools }: PoolsToEnsure): Promise<void> {
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
