import { describe, expect } from 'vitest';
import { events, jobs, nodes, runnerPools } from '#platform/kubernetes/objects.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, rigTest as test } from '../../testing/k8s/controller.ts';
import { type Pod, type PodStatus, scriptedRunner } from '../../testing/k8s/node.ts';
import { runningStatus, unschedulable } from '../../testing/k8s/pod-states.ts';

const hasEvent = (rig: ControllerRig, reason: string, name: string) =>
  until(`there is an Event ${reason}`, async () => {
    const { items } = await rig.admin.list(events, { namespace: rig.namespace });
    return items.some((event) => event.reason === reason && event.regarding?.name === name);
  });

const lastErrorOf = async (rig: ControllerRig, name: string) =>
  (await rig.admin.get(runnerPools, { namespace: rig.namespace, name })).status?.lastError ?? '';

/** A pod whose first step has ended, and whose second is in `state`. */
function secondStepStatus({ spec }: Pod, state: object): PodStatus {
  const at = new Date().toISOString();
  const shared = { image: 'runner', imageID: '', ready: false, restartCount: 0 };
  const [first, second] = spec?.initContainers ?? [];
  return {
    phase: 'Pending',
    initContainerStatuses: [
      { ...shared, name: first?.name ?? '', state: { terminated: { exitCode: 0, finishedAt: at } } },
      { ...shared, name: second?.name ?? '', state },
    ],
  };
}

const waitingFor = (reason: string, message: string) => ({ waiting: { reason, message } });

describe.concurrent('a pod that does not start', () => {
  test('a pod that fits no node shows in phase, condition and Event, and fails the job past the deadline', async ({
    openRig,
  }) => {
    const rig = await openRig({ PENDING_DEADLINE: '9s' });
    rig.startWorker();
    const id = await rig.submit('video:cover');
    await rig.node.setStatus(await rig.podOf(id), unschedulable);
    await rig.becomes(`mj-${id}`, 'Progressing', 'False/Unschedulable');
    expect((await rig.mediaJob(id)).status?.phase).toBe('unschedulable');
    await hasEvent(rig, 'Unschedulable', `mj-${id}`);
    const job = await rig.ended(id);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'resource_exhausted', retryable: true } });
    expect(job.error?.message).toContain('node affinity');
    await rig.jobsAre(0);
  });

  test('a pod that waits is replaced once its pool is corrected, at no cost', async ({ openRig }) => {
    const pools = { default: { concurrency: 2, nodeSelector: { disk: 'absent' } }, 'video-large': { concurrency: 1 } };
    const rig = await openRig({ RUNNER_POOLS: JSON.stringify(pools) });
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await rig.node.setStatus(await rig.podOf(id), unschedulable);
    const ref = { namespace: rig.namespace, name: 'default' };
    await rig.admin.mergePatch(runnerPools, ref, { spec: { nodeSelector: { disk: 'ssd' } } });
    const replaced = await rig.jobOf(id, 2);
    expect(replaced.spec?.template.spec?.nodeSelector).toEqual({ disk: 'ssd' });
    await rig.node.run(replaced, scriptedRunner);
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  });
});

describe.concurrent('a step that cannot start after an earlier one has ended', () => {
  test('shows in condition, Event and pool, and the job continues once it starts', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.podOf(id);
    const waiting = waitingFor('CreateContainerConfigError', 'secret "media" not found');
    await rig.node.setStatus(pod, secondStepStatus(pod, waiting));
    await rig.becomes(`mj-${id}`, 'Progressing', 'False/CreateContainerConfigError');
    await hasEvent(rig, 'CreateContainerConfigError', `mj-${id}`);
    await until('the pool shows it', async () => (await lastErrorOf(rig, 'default')).includes('secret "media"'));
    await rig.node.setStatus(pod, secondStepStatus(pod, { running: { startedAt: new Date().toISOString() } }));
    await rig.becomes(`mj-${id}`, 'Progressing', 'True/AttemptBegun');
  });
});

test.concurrent(
  'a job whose node does not answer names the node in condition, Event and metric until the node returns',
  async ({ openRig, onTestFinished }) => {
    const rig = await openRig();
    const nodeName = `node-${rig.namespace}`;
    await rig.admin.create(nodes, { metadata: { name: nodeName } });
    onTestFinished(() => rig.admin.delete(nodes, { name: nodeName }));
    const setReady = async (status: 'True' | 'Unknown') => {
      const at = new Date().toISOString();
      const message = 'Kubelet stopped posting node status.';
      const conditions = [{ type: 'Ready', status, reason: 'NodeStatusUnknown', message, lastTransitionTime: at }];
      await rig.admin.mergePatch(nodes, { name: nodeName }, { status: { conditions } }, { subresource: 'status' });
    };
    await setReady('True');
    const metrics = new Metrics();
    rig.startWorker({ metrics });
    const id = await rig.submit('video:cover');
    const pod = await rig.podOf(id);
    await rig.node.bind(pod, nodeName);
    await rig.node.setStatus(pod, runningStatus(pod));
    await rig.becomes(`mj-${id}`, 'Progressing', 'True/AttemptBegun');
    await setReady('Unknown');
    await rig.becomes(`mj-${id}`, 'Progressing', 'False/NodeNotReady');
    const { phase, conditions } = (await rig.mediaJob(id)).status ?? {};
    expect(phase).toBe('probing');
    expect(conditions?.find(({ reason }) => reason === 'NodeNotReady')?.message).toContain(`${nodeName} is not ready`);
    await hasEvent(rig, 'NodeNotReady', `mj-${id}`);
    const waitsFor = async () => (await rig.find(id)).waitingReason?.code;
    await until('callers see it', async () => (await waitsFor()) === 'node_lost');
    const series = 'svc_media_jobs_waiting{pool="default",reason="NodeNotReady"}';
    await until('the metric counts it', async () => (await metrics.registry.metrics()).includes(`${series} 1`));
    expect(await metrics.registry.metrics()).toContain('svc_leader{lease="reelwright-controller"} 1');
    await setReady('True');
    await rig.becomes(`mj-${id}`, 'Progressing', 'True/AttemptBegun');
    await until('callers see it', async () => (await waitsFor()) === undefined);
  },
);

test.concurrent(
  'C26.2: a Job that Kueue suspends past the pending deadline shows that and fails nothing',
  async ({ openRig }) => {
    const pools = { default: { concurrency: 1, kueueQueue: 'video' }, 'video-large': { concurrency: 1 } };
    const rig = await openRig({ RUNNER_POOLS: JSON.stringify(pools), PENDING_DEADLINE: '3s' });
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    const { metadata, spec } = await rig.jobOf(id);
    expect(metadata?.labels?.['kueue.x-k8s.io/queue-name']).toBe('video');
    expect(spec?.template.metadata?.labels?.['kueue.x-k8s.io/queue-name']).toBeUndefined();
    const suspend = (isSo: boolean) =>
      rig.admin.mergePatch(jobs, { namespace: rig.namespace, name: `mj-${id}-1` }, { spec: { suspend: isSo } });
    await suspend(true);
    await until('it is shown', async () => (await rig.mediaJob(id)).status?.phase === 'suspended');
    expect(conditionOf(await rig.mediaJob(id), 'Progressing')).toBe('False/JobSuspended');
    const shownAt = Date.now();
    await until('the deadline has passed twice', () => Date.now() - shownAt > 6_000);
    expect((await rig.jobOf(id)).spec?.suspend).toBe(true);
    expect(await rig.find(id)).toMatchObject({ status: 'processing', phase: 'suspended', attempt: 1 });
    await suspend(false);
    await rig.node.run(await rig.jobOf(id), scriptedRunner);
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  },
);

test.concurrent(
  'a MediaJob whose source cannot be measured shows why, and becomes a job once it can',
  async ({ openRig, onTestFinished }) => {
    const rig = await openRig();
    const away = openObjectStore({
      bucket: 'uploads',
      s3: {
        endpoint: 'http://127.0.0.1:9',
        region: 'us-east-1',
        keys: { accessKeyId: 'id', secretAccessKey: 'secret' },
        forcePathStyle: true,
        checksums: 'when_supported',
        timeoutMs: 1_000,
        chainVariables: {},
      },
    });
    onTestFinished(() => away.close());
    const worker = rig.startWorker({ source: away });
    await rig.applyMediaJob('later', { type: 'video:transcode', hash: 'later', source: 'later.mp4' });
    await rig.becomes('later', 'Progressing', 'False/StorageUnavailable');
    const { conditions = [] } = (await rig.mediaJobNamed('later')).status ?? {};
    expect(conditions[0]?.message).toMatch(/the source bucket does not answer \(ECONNREFUSED\)/);
    await hasEvent(rig, 'StorageUnavailable', 'later');
    await worker.stop();
    await rig.writeSource('later.mp4', Buffer.from('a video'));
    rig.startWorker();
    await until('it has a job', async () => (await rig.mediaJobNamed('later')).status?.phase !== 'queued');
    expect(await rig.find((await rig.mediaJobNamed('later')).metadata?.uid ?? '')).toMatchObject({ hash: 'later' });
  },
);
