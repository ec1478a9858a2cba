import { expect, test } from 'vitest';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { openBatchRig } from '../../testing/k8s/batch-rig.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { waitingStatus } from '../../testing/k8s/pod-states.ts';

const containerOf = (name: string, state: object) => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
});

test('a batch whose pod the quota refuses says so on its pool and every waiting job', async () => {
  const rig = await openBatchRig();
  await rig.refusePods();
  rig.startWorker();
  const ids = await rig.submitMany(6);
  const isShown = async () =>
    (await Promise.all(ids.map(rig.find))).every(({ waitingReason }) => waitingReason !== null);
  await until('the jobs say it', isShown);
  const message = expect.stringContaining('exceeded quota: none') as string;
  for (const id of ids) expect((await rig.find(id)).waitingReason).toEqual({ code: 'quota_exceeded', message });
  await until('the pool says it', async () => {
    const { status } = await rig.admin.get(runnerPools, { namespace: rig.namespace, name: 'default' });
    return status?.lastError?.startsWith('QuotaExceeded') === true;
  });
});

test('a batch that cannot start follows a corrected pool', async () => {
  const rig = await openBatchRig();
  rig.startWorker();
  await rig.submitMany(6);
  const job = await rig.firstJob();
  const pod = await rig.node.podOf(job);
  await rig.node.setStatus(pod, waitingStatus(pod, 'ImagePullBackOff', 'no such image'));
  const pool = { namespace: rig.namespace, name: 'default' };
  await rig.admin.mergePatch(runnerPools, pool, { spec: { nodeSelector: { disk: 'ssd' } } });
  await until('another batch has the new settings', async () => {
    const selectors = (await rig.batches()).map(({ spec }) => spec?.template.spec?.nodeSelector?.['disk']);
    return selectors.includes('ssd') && !selectors.includes(undefined);
  });
});

test('the pod of a batch that an added container keeps running is deleted with its Job at the end', async () => {
  const rig = await openBatchRig();
  rig.startWorker();
  const ids = await rig.submitMany(4);
  const { job, pod, runner } = await rig.firstBatch();
  await runner.runAll(rig.work);
  for (const id of ids) await rig.ended(id);
  await rig.node.setStatus(pod, {
    phase: 'Running',
    containerStatuses: [
      containerOf('all', { terminated: { exitCode: 0, reason: 'Completed' } }),
      containerOf('mesh-proxy', { running: { startedAt: new Date().toISOString() } }),
    ],
  });
  await until('its Job is deleted', async () => {
    return (await rig.batches()).every(({ metadata }) => metadata?.name !== job.metadata?.name);
  });
});

test('the exit of a batch’s pod counts for its current task alone', async () => {
  const rig = await openBatchRig();
  rig.startWorker();
  await rig.submitMany(6);
  const { pod, id, runner } = await rig.firstBatch();
  const task = await runner.task();
  // A second request for a task, whose answer was lost, claimed another row.
  const other = await rig.submit('image:thumbnail');
  await rig.jobs.claim({ jobId: other, attempt: 1, owner: `kubernetes:${id}`, leaseMs: Infinity });
  await rig.node.setStatus(pod, {
    phase: 'Failed',
    containerStatuses: [containerOf('all', { terminated: { exitCode: 10, reason: 'Error' } })],
  });
  await rig.ended(task.job_id);
  await until('the other is repeated', async () => (await rig.find(other)).attempt === 2);
  expect(await rig.find(other)).toMatchObject({ failures: 0, disruptions: 1 });
});

test('the crash of a batch’s runner counts for its only task under the next leader too', async () => {
  const rig = await openBatchRig();
  const worker = rig.startWorker();
  await rig.submitMany(6);
  const { pod, runner } = await rig.firstBatch();
  const task = await runner.task();
  await worker.stop();
  await rig.node.setStatus(pod, {
    phase: 'Failed',
    containerStatuses: [containerOf('all', { terminated: { exitCode: 139, reason: 'Error' } })],
  });
  rig.startWorker();
  await until('the task is repeated', async () => (await rig.find(task.job_id)).attempt === 2);
  expect(await rig.find(task.job_id)).toMatchObject({ failures: 1, disruptions: 0 });
});
