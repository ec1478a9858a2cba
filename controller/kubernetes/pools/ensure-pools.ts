import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { fieldManager, type KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { type RunnerPool, runnerPools } from '#platform/kubernetes/objects.ts';
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
 * Creates and updates the RunnerPools of the settings; retried until it succeeds or `signal` aborts. The chart does not
 * hold them, since Helm installs no custom resource together with its definition.
 *
 * The settings size a pool until another field manager sets its concurrency, as `kubectl scale` and autoscalers do: from
 * then on the size is theirs. The concurrency has a field manager of its own, so that a scaled pool still
 * follows the settings in every other field.
 */
export async function ensurePools({ log, signal, ...rest }: PoolsToEnsure): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      for (const [name, spec] of Object.entries(rest.pools)) await writePool(name, spec, rest);
      return;
    } catch (error) {
      if (signal.aborted) return;
      const delayMs = backoffMs(failures, retryBackoff);
      log.warn({ err: error, retry_in_ms: Math.round(delayMs) }, 'RunnerPools could not be written');
      await pause(delayMs, signal);
    }
  }
}

/** The field manager of the concurrency. */
const sizeManager = 'reelwright-pool-size';

async function writePool(
  name: string,
  { concurrency, ...spec }: RunnerPoolSpec,
  { client, namespace }: Pick<PoolsToEnsure, 'client' | 'namespace'>,
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

/** Whether another field manager owns the concurrency. */
function isSizedByOthers({ metadata }: RunnerPool): boolean {
  const ours = [sizeManager, fieldManager];
  return (metadata?.managedFields ?? []).some(({ manager = '', fieldsV1 }) => {
    const spec = fieldsV1?.['f:spec'] as Record<string, unknown> | undefined;
    return spec !== undefined && 'f:concurrency' in spec && !ours.includes(manager);
  });
}
