import sharp from 'sharp';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { jobTimeline } from '#platform/postgres/job-timeline.ts';
import { events, jobs, mediaJobs, secrets } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { conditionOf, type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { server, until } from '../../testing/k8s/cluster.ts';
import { type BatchJob, scriptedRunner } from '../../testing/k8s/node.ts';
import {
  disruptionTarget,
  failedStatus,
  runningStatus,
  unschedulable,
  waitingStatus,
} from '../../testing/k8s/pod-states.ts';

beforeAll(installCrds);

const image = () =>
  sharp({ create: { width: 64, height: 48, channels: 3, background: '#369' } })
    .jpeg()
    .toBuffer();

/** The node runs every Job until the test has ended; by default with the real runner. */
function running(rig: ControllerRig, script?: string) {
  const watch = rig.node.runAll(script);
  onTestFinished(() => watch.stop());
}

async function ended(rig: ControllerRig, id: string) {
  await until(`job ${id} has ended`, async () => isFinal((await rig.find(id)).status), 30_000);
  return rig.find(id);
}

/** The Job of an attempt, once it is there. */
async function jobOf(rig: ControllerRig, id: string, attempt = 1): Promise<BatchJob> {
  const named = async () => (await rig.node.jobs()).find(({ metadata }) => metadata?.name === `mj-${id}-${attempt}`);
  await until(`attempt ${attempt} has a Job`, async () => (await named()) !== undefined);
  return (await named()) as BatchJob;
}

const becomes = (rig: ControllerRig, id: string, type: string, so: string, withinMs?: number) =>
  until(`${type} is ${so}`, async () => conditionOf(await rig.mediaJob(id), type) === so, withinMs);

test('a submitted job runs as a MediaJob, a Job and a pod, and Postgres and the status show its end', async () => {
  const rig = await openControllerRig();
  await rig.writeSource('source', await image());
  rig.startWorker();
  running(rig);
  const id = await rig.submit('image:thumbnail');
  expect(await ended(rig, id)).toMatchObject({ status: 'completed', progress: 100, attempt: 1, failures: 0 });
  await becomes(rig, id, 'Complete', 'True/Completed');
  const mediaJob = await rig.mediaJob(id);
  expect(mediaJob.status).toMatchObject({ phase: 'completed', progress: 100, jobId: id, pool: 'default', attempt: 1 });
  expect(mediaJob.status?.results).toEqual((await rig.find(id)).results);
  expect(conditionOf(mediaJob, 'Published')).toBe('True/Published');
  const [attempt] = (await jobTimeline(rig.database, id))?.attempts ?? [];
  expect(attempt).toMatchObject({ attempt: 1, worker: 'kubernetes', result: 'completed', units_left_out: 0 });
  expect(attempt?.units).toMatchObject([{ unit: 'image', chunk: null, pod: `mj-${id}-1-pod` }]);
  expect(attempt?.units[0]?.steps.map(({ step }) => step)).toEqual(['fetch', 'process', 'publish']);
  expect(attempt?.processor_ms).toBeGreaterThan(0);
});

test('the key of an encrypted stream is in a Secret for publish alone, which is deleted with the attempt', async () => {
  const rig = await openControllerRig();
  rig.startWorker();
  const id = await rig.submit('video:transcode', { source: `${rig.notes}/ok`, options: { encrypt: true } });
  const job = await jobOf(rig, id);
  const { key } = await rig.contentKeys.findOrCreate((await rig.find(id)).hash);
  const secret = { namespace: rig.namespace, name: `mj-${id}-1-key` };
  expect(await rig.admin.get(secrets, secret)).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'MediaJob', name: `mj-${id}`, controller: true }] },
    immutable: true,
  });
  const { initContainers = [], containers = [] } = job.spec?.template.spec ?? {};
  const users = [...initContainers, ...containers].filter((each) => JSON.stringify(each).includes(secret.name));
  expect(users.map(({ name }) => name)).toEqual(['publish']);
  const lists = await Promise.all([
    rig.admin.list(jobs, { namespace: rig.namespace }),
    rig.admin.list(mediaJobs, { namespace: rig.namespace }),
  ]);
  for (const form of ['hex', 'base64'] as const) expect(JSON.stringify(lists)).not.toContain(key.toString(form));
  await rig.node.run(job, scriptedRunner);
  expect(await ended(rig, id)).toMatchObject({ status: 'completed' });
  await until('the Secret is deleted', async () => {
    const { items } = await rig.admin.list(secrets, { namespace: rig.namespace });
    return items.length === 0;
  });
});

describe('a failed attempt', () => {
  test('a permanent error ends the job with the runner’s error', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.node.makePod(await jobOf(rig, id));
    const message = JSON.stringify({ type: 'result', error: jobErrorOf('no_video_stream', 1) });
    await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 10, message }));
    expect(await ended(rig, id)).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'no_video_stream' } });
    await becomes(rig, id, 'Failed', 'True/NoVideoStream');
    expect((await rig.mediaJob(id)).status?.error).toMatchObject({ code: 'no_video_stream' });
  });

  test('an attempt with a transient error is counted and repeated in a new Job', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    const pod = await rig.node.makePod(await jobOf(rig, id));
    await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 137, reason: 'OOMKilled' }));
    await rig.node.run(await jobOf(rig, id, 2), scriptedRunner);
    expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 2, failures: 1 });
  });
});

describe('a disruption costs no attempt', () => {
  const disruptions: [string, (rig: ControllerRig, job: BatchJob) => Promise<void>][] = [
    [
      'when the pod is evicted',
      async (rig, job) => {
        const pod = await rig.node.makePod(job);
        const status = failedStatus(pod, { exitCode: 137 }, disruptionTarget('EvictionByEvictionAPI'));
        await rig.node.setStatus(pod, status);
      },
    ],
    [
      'when the Job is deleted',
      async (rig, { metadata }) => {
        await until('the status shows the attempt', async () => {
          const { items } = await rig.admin.list(mediaJobs, { namespace: rig.namespace });
          return items[0]?.status?.attempt === 1;
        });
        await rig.admin.delete(jobs, { namespace: rig.namespace, name: metadata?.name ?? '' });
      },
    ],
    [
      'when the pod is absent and the Job has failed',
      async (rig, { metadata }) => {
        const at = new Date().toISOString();
        const failure = { status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: at, lastProbeTime: at };
        const conditions = ['FailureTarget', 'Failed'].map((type) => ({ type, ...failure }));
        const ref = { namespace: rig.namespace, name: metadata?.name ?? '' };
        const status = { conditions, startTime: at, failed: 1 };
        await rig.admin.mergePatch(jobs, ref, { status }, { subresource: 'status' });
      },
    ],
  ];
  test.each(disruptions)('%s', async (_, disrupt) => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await disrupt(rig, await jobOf(rig, id));
    await rig.node.run(await jobOf(rig, id, 2), scriptedRunner);
    expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  });

  test('C26.2: suspending and resuming a job costs no attempt', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await jobOf(rig, id);
    const suspend = (isSo: boolean) =>
      rig.admin.mergePatch(mediaJobs, { namespace: rig.namespace, name: `mj-${id}` }, { spec: { suspend: isSo } });
    await suspend(true);
    await until('the Job is deleted', async () => (await rig.node.jobs()).length === 0);
    await becomes(rig, id, 'Suspended', 'True/Suspended');
    expect(await rig.find(id)).toMatchObject({ status: 'processing', phase: 'suspended' });
    await suspend(false);
    await rig.node.run(await jobOf(rig, id, 2), scriptedRunner);
    expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
    await becomes(rig, id, 'Suspended', 'False/Resumed');
  });

  test('a disrupted attempt that had already written its results ends the job with them', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    const job = await jobOf(rig, id);
    const pod = await rig.node.makePod(job);
    await rig.node.execute(pod, scriptedRunner, { isSilent: true });
    await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 137 }, disruptionTarget('DeletionByTaintManager')));
    expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  });
});

describe('a job that is ended from outside', () => {
  test('a cancelled job has its Job deleted', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    await jobOf(rig, id);
    await rig.cancel(id);
    await until('the Job is deleted', async () => (await rig.node.jobs()).length === 0, 5_000);
    await becomes(rig, id, 'Failed', 'True/Cancelled');
    expect((await rig.mediaJob(id)).status?.phase).toBe('cancelled');
  });

  test.each([
    ['deleted', []],
    ['deleted and kept by a finalizer', ['example.com/keep']],
  ])('a job whose MediaJob is %s is cancelled', async (_, finalizers) => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    await jobOf(rig, id);
    const mediaJob = { namespace: rig.namespace, name: `mj-${id}` };
    await rig.admin.mergePatch(mediaJobs, mediaJob, { metadata: { finalizers } });
    await rig.admin.delete(mediaJobs, mediaJob);
    expect(await ended(rig, id)).toMatchObject({ status: 'cancelled' });
    await until('the Job is deleted', async () => (await rig.node.jobs()).length === 0);
  });

  test('a job that has ended keeps its MediaJob until the TTL has passed', async () => {
    const rig = await openControllerRig({ MEDIA_JOB_TTL: '1s' });
    rig.startWorker();
    running(rig, scriptedRunner);
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await ended(rig, id);
    await until('the MediaJob is deleted', async () => {
      const { items } = await rig.admin.list(mediaJobs, { namespace: rig.namespace });
      return items.length === 0;
    });
    expect(await rig.find(id)).toMatchObject({ status: 'completed' });
  });
});

const manifest = (name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'reelwright.dev/v1alpha1', kind: 'MediaJob', metadata: { name }, spec });

describe('a MediaJob from kubectl', () => {
  test('a MediaJob becomes a job with its UID and completes', async () => {
    const rig = await openControllerRig();
    await rig.writeSource('source', await image());
    rig.startWorker();
    running(rig);
    const spec = { type: 'image:thumbnail', hash: 'by-hand', source: 'source' };
    await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('by-hand', spec));
    const wait = ['wait', '-n', rig.namespace, '--for=condition=Complete', '--timeout=30s', 'mj/by-hand'];
    await kubectl(server, wait);
    const { metadata, status } = await rig.mediaJobNamed('by-hand');
    const job = await rig.find(metadata?.uid ?? '');
    expect(job).toMatchObject({ status: 'completed', hash: 'by-hand', queue: 'default' });
    expect(status).toMatchObject({ jobId: job.id, phase: 'completed', results: { key: expect.any(String) as string } });
  });

  test('a MediaJob that equals a completed job shows the results of that job', async () => {
    const rig = await openControllerRig();
    await rig.writeSource('source', await image());
    rig.startWorker();
    running(rig);
    const id = await rig.submit('image:thumbnail', { hash: 'twice' });
    await ended(rig, id);
    const spec = { type: 'image:thumbnail', hash: 'twice', source: 'source' };
    await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('again', spec));
    await until('it is complete', async () => conditionOf(await rig.mediaJobNamed('again'), 'Complete') !== undefined);
    expect((await rig.mediaJobNamed('again')).status).toMatchObject({ jobId: id, phase: 'completed' });
    expect(await rig.node.jobs()).toHaveLength(1);
  });

  test('a MediaJob whose source does not exist fails with the reason in its condition', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const spec = { type: 'video:transcode', hash: 'none', source: 'nowhere.mp4' };
    await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('none', spec));
    await until('it failed', async () => conditionOf(await rig.mediaJobNamed('none'), 'Failed') === 'True/Refused');
    const { status } = await rig.mediaJobNamed('none');
    expect(status?.conditions?.[0]?.message).toMatch(/^spec\.source: ".+" does not exist in the source bucket$/);
  });
});

test('a MediaJob from kubectl gets the built-in profile that it names', async () => {
  const rig = await openControllerRig();
  await rig.writeSource('video', await image());
  rig.startWorker();
  const spec = { type: 'video:transcode', hash: 'mobile', source: 'video', profile: 'mobile' };
  await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('mobile', spec));
  const { metadata } = await rig.mediaJobNamed('mobile');
  await until('it has a row', async () => (await rig.jobs.find(metadata?.uid ?? '')) !== null);
  expect((await rig.jobs.find(metadata?.uid ?? ''))?.profile?.name).toBe('mobile');
});

describe('a MediaJob from kubectl with a forbidden webhook address', () => {
  const refusals: [string, object, string][] = [
    ['a loopback address', { callbackUrl: 'http://127.0.0.1:8080/hook' }, 'spec.callbackUrl'],
    ['a metadata service', { callbackUrl: 'http://169.254.169.254/latest' }, 'spec.callbackUrl'],
    ['localhost by name', { callbackUrl: 'http://localhost/hook' }, 'spec.callbackUrl'],
  ];
  test.each(refusals)(
    'a MediaJob (%s) is refused with the field in its status, and no job is made',
    async (_, more, field) => {
      const rig = await openControllerRig();
      await rig.writeSource('source', await image());
      rig.startWorker();
      const spec = { type: 'image:thumbnail', hash: 'inward', source: 'source', ...more };
      await kubectl(server, ['apply', '-n', rig.namespace, '-f', '-'], manifest('inward', spec));
      await until('it failed', async () => conditionOf(await rig.mediaJobNamed('inward'), 'Failed') === 'True/Refused');
      const { metadata, status } = await rig.mediaJobNamed('inward');
      expect(status?.conditions?.[0]?.message).toBe(
        `${field}: must lead to a public address or to a network that WEBHOOK_ALLOWED_CIDRS names`,
      );
      expect(await rig.jobs.find(metadata?.uid ?? '')).toBeNull();
    },
  );
});

test('a pool with a Kueue queue labels its Jobs with it and leaves their suspension to Kueue', async () => {
  const pools = { default: { concurrency: 1, kueueQueue: 'video' }, 'video-large': { concurrency: 1 } };
  const rig = await openControllerRig({ RUNNER_POOLS: JSON.stringify(pools) });
  rig.startWorker();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  const { metadata, spec } = await jobOf(rig, id);
  expect(metadata?.labels?.['kueue.x-k8s.io/queue-name']).toBe('video');
  expect(spec?.template.metadata?.labels?.['kueue.x-k8s.io/queue-name']).toBeUndefined();
  // Kueue suspends the Job and resumes it; no other client writes to it meanwhile.
  const ref = { namespace: rig.namespace, name: `mj-${id}-1` };
  await rig.admin.mergePatch(jobs, ref, { spec: { suspend: true } });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect((await jobOf(rig, id)).spec?.suspend).toBe(true);
  expect(await rig.find(id)).toMatchObject({ status: 'processing', attempt: 1 });
  await rig.admin.mergePatch(jobs, ref, { spec: { suspend: false } });
  await rig.node.run(await jobOf(rig, id), scriptedRunner);
  expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
});

test('the Job of a failed attempt stays with its pod’s log as long as its MediaJob', async () => {
  const rig = await openControllerRig({ MEDIA_JOB_TTL: '90s' });
  rig.startWorker();
  const id = await rig.submit('video:cover');
  const pod = await rig.node.makePod(await jobOf(rig, id));
  await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 10 }));
  expect(await ended(rig, id)).toMatchObject({ status: 'failed' });
  await until('it says so', async () => conditionOf(await rig.mediaJob(id), 'Failed') !== undefined);
  const { metadata, spec } = await jobOf(rig, id);
  expect(metadata?.deletionTimestamp).toBeUndefined();
  expect(spec?.ttlSecondsAfterFinished).toBe(90);
});

describe('a pod that does not start', () => {
  test('a pod that fits no node shows in phase, condition and Event, and fails the job past the deadline', async () => {
    const rig = await openControllerRig({ PENDING_DEADLINE: '9s' });
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.node.makePod(await jobOf(rig, id));
    await rig.node.setStatus(pod, unschedulable);
    await becomes(rig, id, 'Progressing', 'False/Unschedulable', 30_000);
    expect((await rig.mediaJob(id)).status?.phase).toBe('unschedulable');
    await until('there is an Event', async () => {
      const { items } = await rig.admin.list(events, { namespace: rig.namespace });
      return items.some(({ reason, regarding }) => reason === 'Unschedulable' && regarding?.name === `mj-${id}`);
    });
    const job = await ended(rig, id);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'resource_exhausted', retryable: true } });
    expect(job.error?.message).toContain('node affinity');
    await until('the Job is deleted', async () => (await rig.node.jobs()).length === 0);
  });

  test('an image that is missing shows in the condition, and the job continues once it exists', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.node.makePod(await jobOf(rig, id));
    await rig.node.setStatus(pod, waitingStatus(pod, 'ImagePullBackOff', 'Back-off pulling image'));
    await becomes(rig, id, 'Progressing', 'False/ImagePullBackOff', 30_000);
    await rig.node.setStatus(pod, runningStatus(pod));
    await becomes(rig, id, 'Progressing', 'True/AttemptBegun');
    expect(await rig.find(id)).toMatchObject({ status: 'processing', phase: 'probing' });
  });

  test('a quota shows with the message of the Job’s Event', async () => {
    const rig = await openControllerRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const { metadata } = await jobOf(rig, id);
    const at = new Date().toISOString().replace('Z', '000Z');
    await rig.admin.create(events, {
      metadata: { namespace: rig.namespace, name: 'denied' },
      eventTime: at,
      reportingController: 'job-controller',
      reportingInstance: 'test',
      action: 'Create',
      regarding: { apiVersion: 'batch/v1', kind: 'Job', namespace: rig.namespace, name: metadata?.name ?? '' },
      type: 'Warning',
      reason: 'FailedCreate',
      note: 'pods "x" is forbidden: exceeded quota: tiny',
    });
    await becomes(rig, id, 'Progressing', 'False/QuotaExceeded', 30_000);
    expect((await rig.mediaJob(id)).status?.phase).toBe('quota_exceeded');
  });
});
