import sharp from 'sharp';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { events, jobs, nodes, runnerPools } from '#platform/kubernetes/objects.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { server, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { type BatchJob, type Pod, type PodStatus, scriptedRunner } from '../../testing/k8s/node.ts';
import { runningStatus, unschedulable } from '../../testing/k8s/pod-states.ts';

beforeAll(installCrds);

async function jobOf(rig: ControllerRig, id: string, attempt = 1): Promise<BatchJob> {
  const named = async () => (await rig.node.jobs()).find(({ metadata }) => metadata?.name === `mj-${id}-${attempt}`);
  await until(`attempt ${attempt} has a Job`, async () => (await named()) !== undefined);
  return (await named()) as BatchJob;
}

async function ended(rig: ControllerRig, id: string) {
  await until(`job ${id} is final`, async () => isFinal((await rig.find(id)).status), 30_000);
  return rig.find(id);
}

async function hasEvent(rig: ControllerRig, reason: string, name: string): Promise<boolean> {
  const { items } = await rig.admin.list(events, { namespace: rig.namespace });
  return items.some((event) => event.reason === reason && event.regarding?.name === name);
}

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

test('a source key with dollar signs reaches the runner unchanged', async () => {
  const rig = await openControllerRig();
  const image = sharp({ create: { width: 64, height: 48, channels: 3, background: '#369' } }).jpeg();
  await rig.writeSource('a$$b $(LANG).jpg', await image.toBuffer());
  rig.startWorker();
  const id = await rig.submit('image:thumbnail', { source: 'a$$b $(LANG).jpg' });
  await rig.node.run(await jobOf(rig, id));
  expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 1 });
});

describe('a step that cannot start after an earlier one has ended', () => {
  test('a step that cannot start after an earlier one has ended shows in condition, Event and pool, and the job continues once it starts', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.node.makePod(await jobOf(rig, id));
    await rig.node.setStatus(
      pod,
      secondStepStatus(pod, waitingFor('CreateContainerConfigError', 'secret "media" not found')),
    );
    const progressing = async () => conditionOf(await rig.mediaJob(id), 'Progressing');
    await until(
      'the condition shows it',
      async () => (await progressing()) === 'False/CreateContainerConfigError',
      30_000,
    );
    await until('there is an Event', () => hasEvent(rig, 'CreateContainerConfigError', `mj-${id}`));
    await until(
      'the pool shows it',
      async () => (await lastErrorOf(rig, 'default')).includes('secret "media"'),
      30_000,
    );
    await rig.node.setStatus(pod, secondStepStatus(pod, { running: { startedAt: new Date().toISOString() } }));
    await until('it continues', async () => (await progressing()) === 'True/AttemptBegun');
  });

  test('a step that cannot start after an earlier one has ended fails the job past the pending deadline', async () => {
    const rig = await openControllerRig({ PENDING_DEADLINE: '6s' });
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.node.makePod(await jobOf(rig, id));
    await rig.node.setStatus(pod, secondStepStatus(pod, waitingFor('ImagePullBackOff', 'Back-off pulling image')));
    const job = await ended(rig, id);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'internal' } });
    expect(job.error?.message).toContain('ImagePullBackOff');
  });
});

test('a job whose node does not answer names the node in condition, Event and metric until the node returns', async () => {
  const rig = await openControllerRig();
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
  const pod = await rig.node.makePod(await jobOf(rig, id), { nodeName });
  await rig.node.setStatus(pod, runningStatus(pod));
  const progressing = async () => conditionOf(await rig.mediaJob(id), 'Progressing');
  await until('it runs', async () => (await progressing()) === 'True/AttemptBegun');
  await setReady('Unknown');
  await until('the condition names the node', async () => (await progressing()) === 'False/NodeNotReady');
  const { phase, conditions } = (await rig.mediaJob(id)).status ?? {};
  expect(phase).toBe('probing');
  expect(conditions?.find(({ reason }) => reason === 'NodeNotReady')?.message).toContain(`${nodeName} is not ready`);
  await until('there is an Event', () => hasEvent(rig, 'NodeNotReady', `mj-${id}`));
  const waitsFor = async () => (await rig.find(id)).waitingReason?.code;
  await until('callers see it', async () => (await waitsFor()) === 'node_lost');
  const series = 'svc_media_jobs_waiting{pool="default",reason="NodeNotReady"}';
  await until('the metric counts it', async () => (await metrics.registry.metrics()).includes(`${series} 1`), 20_000);
  expect(await metrics.registry.metrics()).toContain('svc_leader{lease="reelwright-controller"} 1');
  await setReady('True');
  await until('it continues', async () => (await progressing()) === 'True/AttemptBegun');
  await until('callers see it', async () => (await waitsFor()) === undefined);
});

test('C26.2: a Job that Kueue keeps suspended past the pending deadline shows that and fails nothing', async () => {
  const rig = await openControllerRig({ PENDING_DEADLINE: '6s' });
  rig.startWorker();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  await jobOf(rig, id);
  const ref = { namespace: rig.namespace, name: `mj-${id}-1` };
  // As the Job controller does.
  const confirm = async (status: 'True' | 'False', reason: string) => {
    const at = new Date().toISOString();
    const conditions = [{ type: 'Suspended', status, reason, lastTransitionTime: at, lastProbeTime: at }];
    await rig.admin.mergePatch(jobs, ref, { status: { conditions } }, { subresource: 'status' });
  };
  await rig.admin.mergePatch(jobs, ref, { spec: { suspend: true } });
  await confirm('True', 'JobSuspended');
  await until('it is shown', async () => (await rig.mediaJob(id)).status?.phase === 'suspended', 30_000);
  expect(conditionOf(await rig.mediaJob(id), 'Progressing')).toBe('False/JobSuspended');
  expect(await rig.find(id)).toMatchObject({ status: 'processing', phase: 'suspended' });
  // Past the deadline.
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  expect(await rig.find(id)).toMatchObject({ status: 'processing', attempt: 1 });
  await rig.admin.mergePatch(jobs, ref, { spec: { suspend: false } });
  await confirm('False', 'JobResumed');
  await rig.node.run(await jobOf(rig, id), scriptedRunner);
  expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
});

test('a pod that waits is replaced once its pool is corrected, at no cost', async () => {
  const pools = { default: { concurrency: 2, nodeSelector: { disk: 'absent' } }, 'video-large': { concurrency: 1 } };
  const rig = await openControllerRig({ RUNNER_POOLS: JSON.stringify(pools) });
  rig.startWorker();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  const pod = await rig.node.makePod(await jobOf(rig, id));
  await rig.node.setStatus(pod, unschedulable);
  const ref = { namespace: rig.namespace, name: 'default' };
  await rig.admin.mergePatch(runnerPools, ref, { spec: { nodeSelector: { disk: 'ssd' } } });
  const replaced = await jobOf(rig, id, 2);
  expect(replaced.spec?.template.spec?.nodeSelector).toEqual({ disk: 'ssd' });
  await rig.node.run(replaced, scriptedRunner);
  expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
});

test('a container that an admission webhook added keeps no pod of a completed job', async () => {
  const rig = await openControllerRig();
  await rig.writeSource(
    'source',
    await sharp({ create: { width: 64, height: 48, channels: 3, background: '#369' } })
      .jpeg()
      .toBuffer(),
  );
  rig.startWorker();
  const id = await rig.submit('image:thumbnail');
  const pod = await rig.node.makePod(await jobOf(rig, id));
  await rig.node.execute(pod, undefined, { isSilent: true });
  const shared = { image: 'runner', imageID: '', ready: false, restartCount: 0 };
  await rig.node.setStatus(pod, {
    phase: 'Running',
    containerStatuses: [
      { ...shared, name: 'aaa-proxy', state: { running: { startedAt: new Date().toISOString() } } },
      { ...shared, name: 'all', state: { terminated: { exitCode: 0, finishedAt: new Date().toISOString() } } },
      { ...shared, name: 'zzz-agent', state: { running: { startedAt: new Date().toISOString() } } },
    ],
  });
  expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 1 });
  await until('the Job is deleted', async () => (await rig.node.jobs()).length === 0);
});

const manifest = (name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'reelwright.dev/v1alpha1', kind: 'MediaJob', metadata: { name }, spec });

describe('a MediaJob from kubectl', () => {
  test('a MediaJob from kubectl that is refused has an error and an Event', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const spec = { type: 'video:transcode', hash: 'none', source: 'nowhere.mp4' };
    await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('none', spec));
    await until('it is refused', async () => conditionOf(await rig.mediaJobNamed('none'), 'Failed') === 'True/Refused');
    expect((await rig.mediaJobNamed('none')).status?.error).toMatchObject({ code: 'source_not_found' });
    await until('there is an Event', () => hasEvent(rig, 'Refused', 'none'));
  });

  test('a MediaJob from kubectl whose source cannot be measured shows why, and becomes a job once it can', async () => {
    const rig = await openControllerRig();
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
    const spec = { type: 'video:transcode', hash: 'later', source: 'later.mp4' };
    await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('later', spec));
    const progressing = async () => conditionOf(await rig.mediaJobNamed('later'), 'Progressing');
    await until('the condition shows it', async () => (await progressing()) === 'False/StorageUnavailable', 30_000);
    const { conditions = [] } = (await rig.mediaJobNamed('later')).status ?? {};
    expect(conditions[0]?.message).toMatch(/the source bucket does not answer \(ECONNREFUSED\)/);
    await until('there is an Event', () => hasEvent(rig, 'StorageUnavailable', 'later'));
    await worker.stop();
    await rig.writeSource('later.mp4', Buffer.from('a video'));
    rig.startWorker();
    await until('it has a job', async () => (await rig.mediaJobNamed('later')).status?.phase !== 'queued', 60_000);
    expect(await rig.find((await rig.mediaJobNamed('later')).metadata?.uid ?? '')).toMatchObject({ hash: 'later' });
  });
});
