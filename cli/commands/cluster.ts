import type { Command } from '../command.ts';
import { UsageError } from '../exit-codes.ts';

// The command that asks the cluster and not the service.

export const pools: Command = {
  name: 'pools',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Shows the RunnerPools of the cluster: how many pods run, how many jobs wait, and what keeps them.',
  more: 'It asks the API server that KUBECONFIG names, or without one that of the cluster in which it runs.',
  example: 'pools --namespace reelwright-runners',
  options: { namespace: { value: 'NAME', doc: 'of the runners; else RUNNER_NAMESPACE' } },
  run: async ({ options, env, output, signal }) => {
    const namespace = options.text('namespace') ?? env['RUNNER_NAMESPACE'];
    if (namespace === undefined)
      throw new UsageError('--namespace: expected the namespace of the runners, found nothing');
    const [{ runnerPools }, { openKubeClient }] = await Promise.all([
      import('#platform/kubernetes/objects.ts'),
      import('../kube.ts'),
    ]);
    const client = await openKubeClient(env);
    try {
      const { items } = await client.list(runnerPools, { namespace, signal });
      const found = items.map(({ metadata, spec, status }) => ({
        name: metadata?.name ?? '',
        concurrency: spec.concurrency,
        active: status?.active ?? 0,
        queued: status?.queued ?? 0,
        last_error: status?.lastError || null,
      }));
      const rows = found.map((pool) => [
        pool.name,
        ...[pool.concurrency, pool.active, pool.queued].map(String),
        pool.last_error ?? '',
      ]);
      output.list({ pools: found }, ['POOL', 'CONCURRENCY', 'ACTIVE', 'QUEUED', 'LAST ERROR'], rows);
    } finally {
      await client.close();
    }
  },
};
