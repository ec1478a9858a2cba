import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs, type KubeObject, mediaJobs, pods, type Resource, secrets } from '#platform/kubernetes/objects.ts';
import { endPrograms } from '../../testing/programs.ts';
import { until } from '../../testing/k8s/eventually.ts';
import { missingFromAssets, type SmallCluster, startSmallCluster } from '../../testing/k8s/small-cluster.ts';
import { openWorkplace, type Workplace } from '../../testing/k8s/workers.ts';

// The program beside Kubernetes' own controllers of Jobs, garbage and namespaces, the scheduler, and fake nodes (kwok).
// The official envtest download has no such controllers: this file is skipped there, and counted as skipped.

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';
const missing = missingFromAssets(assets);

/** 2,000 in `make bench`; these take some twenty seconds. */
const many = Number(process.env['K8S_SCALE'] ?? 200);
const concurrency = 100;
const namespace = 'runners';
const namespaces: Resource<KubeObject> = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  isNamespaced: false,
};
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

  const podsOf = async (id: string) => {
    const labelSelector = `reelwright.dev/job-id=${id}`;
    return (await cluster.admin.list(pods, { namespace, labelSelector })).items;
  };

  const over = async (id: string) => {
    await until(`job ${id} has ended`, async () => isFinal((await workplace.find(id)).status), 90_000);
    return workplace.find(id);
  };

  /** A job whose first pod runs, and never ends; a second attempt would leave something. */
  async function begun(): Promise<string> {
    const id = await workplace.submit('image:thumbnail', { ...thumbnail, queue: 'video:large' });
    const { hash } = await workplace.find(id);
    for (const attempt of [2, 3, 4]) await workplace.leaveThumbnail(id, hash, attempt);
    await until('its pod runs', async () => (await podsOf(id))[0]?.status?.phase === 'Running', 60_000);
    return id;
  }

  test('a deleted pod costs no attempt', async () => {
    const id = await begun();
    const [pod] = await podsOf(id);
    await cluster.admin.delete(pods, { namespace, name: pod?.metadata?.name ?? '' }, { gracePeriodSeconds: 0 });
    expect(await over(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  }, 120_000);

  test('a deleted Job costs no attempt', async () => {
    const id = await begun();
    await cluster.admin.delete(jobs, { namespace, name: `mj-${id}-1` });
    expect(await over(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  }, 120_000);

  test('a deleted MediaJob cancels its job and deletes its Job and its pod', async () => {
    const id = await begun();
    await cluster.admin.delete(mediaJobs, { namespace, name: `mj-${id}` });
    expect(await over(id)).toMatchObject({ status: 'cancelled' });
    await until('its pod is deleted', async () => (await podsOf(id)).length === 0, 60_000);
  }, 120_000);

  test('a namespace that is deleted and created again costs no attempt', async () => {
    const id = await begun();
    await cluster.admin.delete(namespaces, { name: namespace });
    const isThere = () =>
      cluster.admin.get(namespaces, { name: namespace }).then(
        () => true,
        () => false,
      );
    await until('the namespace is deleted', async () => !(await isThere()), 60_000);
    expect(await workplace.find(id)).toMatchObject({ status: 'processing' });
    await cluster.admin.create(namespaces, { metadata: { name: namespace } });
    expect(await over(id)).toMatchObject({ status: 'completed', failures: 0 });
  }, 180_000);

  test('the key Secret of a cancelled job is deleted', async () => {
    const id = await workplace.submit('video:transcode', { options: { encrypt: true } });
    const key = { namespace, name: `mj-${id}-1-key` };
    const isThere = () =>
      cluster.admin.get(secrets, key).then(
        () => true,
        () => false,
      );
    await until('its key is there', isThere, 60_000);
    await workplace.cancel(id);
    await until('its key is deleted', async () => !(await isThere()), 60_000);
    await until('its pod is deleted', async () => (await podsOf(id)).length === 0, 60_000);
  }, 120_000);

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
