import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { jobs, mediaJobs, pods } from '#platform/kubernetes/objects.ts';
import { endPrograms } from '../../testing/programs.ts';
import { until } from '../../testing/k8s/eventually.ts';
import { namespaces } from '../../testing/k8s/kinds.ts';
import { missingFromAssets, type SmallCluster, startSmallCluster } from '../../testing/k8s/small-cluster.ts';
import { openWorkplace, type Workplace } from '../../testing/k8s/workers.ts';

// Many jobs at once, on a cluster with a scheduler and fake nodes (kwok). Without these two programs, as with what
// scripts/envtest downloads, this file is skipped, and counted as skipped.

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';
const missing = missingFromAssets(assets);

/** 2,000 in `make bench`; these take some twenty seconds. */
const many = Number(process.env['K8S_SCALE'] ?? 200);
const concurrency = 100;
const namespace = 'runners';
const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };

describe.skipIf(missing !== null)(`on a cluster with fake nodes${missing === null ? '' : ` (${missing})`}`, () => {
  let cluster: SmallCluster;
  let workplace: Workplace;

  beforeAll(async () => {
    const postgres = inject('postgres');
    if (!postgres) throw new Error('no PostgreSQL was started for this run');
    cluster = await startSmallCluster({ assets, podMs: 500 });
    await cluster.admin.create(namespaces, { metadata: { name: namespace } });
    workplace = await openWorkplace({
      postgresUrl: postgres.url,
      template: postgres.migratedTemplate,
      kubeconfigPath: cluster.server.kubeconfigPath,
      namespace,
    });
    await workplace.start({
      WORKER_CONCURRENCY: String(concurrency),
      LARGE_WORKER_CONCURRENCY: '10',
      MEDIA_JOB_TTL: '1h',
      SWEEP_INTERVAL: '1s',
    });
  }, 120_000);

  afterAll(async () => {
    await endPrograms();
    await workplace.close();
    await cluster.stop();
  }, 60_000);

  test(
    `C26.1: of ${many} MediaJobs every one ends, and the pool’s concurrency is never passed`,
    async () => {
      const { resourceVersion = '' } = (await cluster.admin.list(jobs, { namespace, limit: 1 })).metadata;
      const working = new Set<string>();
      let most = 0;
      const stopping = new AbortController();
      const counting = (async () => {
        const selection = { namespace, resourceVersion, timeoutSeconds: 3_600, signal: stopping.signal };
        for await (const { type, object } of cluster.admin.watch(pods, selection)) {
          if (type === 'BOOKMARK') continue;
          const isAtWork = type !== 'DELETED' && !['Succeeded', 'Failed'].includes(object.status?.phase ?? '');
          if (isAtWork) working.add(object.metadata?.uid ?? '');
          else working.delete(object.metadata?.uid ?? '');
          most = Math.max(most, working.size);
        }
      })().catch(() => undefined);
      for (let n = 0; n < many; n += 1) {
        const [name, spec] = [`many-${n}`, { type: 'image:thumbnail' as const, hash: `many-${n}`, source: 's' }];
        const made = await cluster.admin.create(mediaJobs, {
          metadata: { namespace, name },
          spec: { ...spec, ...thumbnail },
        });
        await workplace.leaveThumbnail(made.metadata?.uid ?? '', name);
      }
      const ended = async () => {
        await sleep(500);
        const { items } = await cluster.admin.list(mediaJobs, { namespace });
        return items.filter(
          ({ metadata, status }) => metadata?.name?.startsWith('many-') && status?.phase === 'completed',
        );
      };
      await until('every one is complete', async () => (await ended()).length === many, 60_000 + many * 500);
      stopping.abort();
      await counting;
      expect(most).toBeGreaterThan(1);
      expect(most).toBeLessThanOrEqual(concurrency);
      const { items } = await cluster.admin.list(mediaJobs, { namespace });
      expect(items.filter(({ status }) => (status?.attempt ?? 1) > 1 && status?.phase !== 'completed')).toEqual([]);
    },
    120_000 + many * 1_000,
  );
});
