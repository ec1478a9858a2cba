import { expect, test } from 'vitest';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';

// Jobs that name a RunnerPool of their own. No pod runs, so nothing ends by itself.

const begunOf = async ({ node }: ControllerRig, ids: readonly string[]) => {
  const names = (await node.jobs()).map(({ metadata }) => metadata?.name);
  return ids.filter((id) => names.includes(`mj-${id}-1`));
};

async function withPool(concurrency: number): Promise<ControllerRig> {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '1' });
  const metadata = { namespace: rig.namespace, name: 'gpu' };
  await rig.admin.create(runnerPools, { metadata, spec: { concurrency } });
  return rig;
}

const submitted = (rig: ControllerRig, count: number, more: { pool?: string } = {}) =>
  Promise.all(Array.from({ length: count }, () => rig.submit('video:cover', more)));

test('C26.15, C25.20: jobs of a pool of their own begin while the queue is full, as many as it has slots', async () => {
  const rig = await withPool(2);
  const ofQueue = await submitted(rig, 2);
  const own = await submitted(rig, 3, { pool: 'gpu' });
  const metrics = new Metrics();
  rig.startWorker({ metrics });
  await until('both pools are full', async () => (await rig.node.jobs()).length === 3);
  expect([(await begunOf(rig, own)).length, (await begunOf(rig, ofQueue)).length]).toEqual([2, 1]);
  const shown = async (series: string) => (await metrics.registry.metrics()).includes(`${series}\n`);
  for (const series of [
    'svc_pool_tasks{pool="gpu",state="pending"} 1',
    'svc_pool_tasks{pool="gpu",state="active"} 2',
    'svc_pool_concurrency{pool="gpu"} 2',
    'svc_pool_wait_seconds_count{pool="gpu"} 2',
  ])
    await until(`the metrics have ${series}`, () => shown(series));
  const pool = await rig.admin.get(runnerPools, { namespace: rig.namespace, name: 'gpu' });
  expect(pool.status).toMatchObject({ active: 2, queued: 1 });
  const begun = await begunOf(rig, own);
  const last = own.filter((id) => !begun.includes(id));
  await rig.cancel(begun[0] ?? '');
  await until('the third one follows', async () => (await begunOf(rig, last)).length === 1);
});

test('C26.15: a job waits for a pool that was deleted before it began, and runs once the pool is there', async () => {
  const rig = await withPool(1);
  const [before = '', after = ''] = await submitted(rig, 2, { pool: 'gpu' });
  rig.startWorker();
  await until('one of them has begun', async () => (await begunOf(rig, [before, after])).length === 1);
  const [running = ''] = await begunOf(rig, [before, after]);
  const waiting = running === before ? after : before;
  await rig.admin.delete(runnerPools, { namespace: rig.namespace, name: 'gpu' });
  const reasonOf = async () => (await rig.find(waiting)).waitingReason;
  await until('the other one says why it waits', async () => (await reasonOf())?.code === 'unschedulable');
  expect((await reasonOf())?.message).toContain('There is no RunnerPool gpu');
  expect(await begunOf(rig, [running])).toEqual([running]);
  await rig.admin.create(runnerPools, {
    metadata: { namespace: rig.namespace, name: 'gpu' },
    spec: { concurrency: 2 },
  });
  await until('the other one has begun', async () => (await begunOf(rig, [waiting])).length === 1);
});
