import { describe, expect } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { unlessDeleted } from '#platform/kubernetes/errors.ts';
import { events, jobs, mediaJobs, pods, secrets } from '#platform/kubernetes/objects.ts';
import { jobTimeline } from '#platform/postgres/job-timeline.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { server, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, rigTest as test } from '../../testing/k8s/controller.ts';
import { type Pod, scriptedRunner } from '../../testing/k8s/node.ts';
import { disruptionTarget, failedStatus, runningStatus } from '../../testing/k8s/pod-states.ts';

const areDeleted = async (list: Promise<{ items: readonly unknown[] }>) => (await list).items.length === 0;

test.concurrent(
  'a submitted job runs as a MediaJob, a Job and a pod, and Postgres and the status show its end',
  async ({ openRig }) => {
    const rig = await openRig();
    await rig.writeImage();
    rig.startWorker();
    rig.runAll();
    const id = await rig.submit('image:thumbnail');
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', progress: 100, attempt: 1, failures: 0 });
    await rig.becomes(`mj-${id}`, 'Complete', 'True/Completed');
    const mediaJob = await rig.mediaJob(id);
    expect(mediaJob.status).toMatchObject({
      phase: 'completed',
      progress: 100,
      jobId: id,
      pool: 'default',
      attempt: 1,
    });
    expect(mediaJob.status?.results).toEqual((await rig.find(id)).results);
    expect(conditionOf(mediaJob, 'Published')).toBe('True/Published');
    const [attempt] = (await jobTimeline(rig.database, id))?.attempts ?? [];
    expect(attempt).toMatchObject({ attempt: 1, worker: 'kubernetes', result: 'completed', units_left_out: 0 });
    const pod = expect.stringMatching(`^mj-${id}-1-`) as string;
    expect(attempt?.units).toMatchObject([{ unit: 'image', chunk: null, pod }]);
    expect(attempt?.units[0]?.steps.map(({ step }) => step)).toEqual(['fetch', 'process', 'publish']);
    expect(attempt?.processor_ms).toBeGreaterThan(0);
  },
);

/** A job with a key, once its first Job is there. */
const submitEncrypted = async (rig: ControllerRig) => {
  rig.startWorker();
  const id = await rig.submit('video:transcode', { source: `${rig.notes}/ok`, options: { encrypt: true } });
  return { id, job: await rig.jobOf(id), secret: { namespace: rig.namespace, name: `mj-${id}-1-key` } };
};

describe.concurrent('the key of an encrypted stream', () => {
  test('is in a Secret for publish alone, which is deleted with the attempt', async ({ openRig }) => {
    const rig = await openRig();
    const { id, job, secret } = await submitEncrypted(rig);
    const { key } = await rig.contentKeys.findOrCreate((await rig.find(id)).hash);
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
    expect(await rig.ended(id)).toMatchObject({ status: 'completed' });
    await until('the Secret is deleted', () => areDeleted(rig.admin.list(secrets, { namespace: rig.namespace })));
  });

  test('is deleted when the job is cancelled', async ({ openRig }) => {
    const rig = await openRig();
    const { id, secret } = await submitEncrypted(rig);
    await rig.admin.get(secrets, secret);
    await rig.cancel(id);
    await until('the Secret is deleted', () => areDeleted(rig.admin.list(secrets, { namespace: rig.namespace })));
  });
});

describe.concurrent('a failed attempt', () => {
  test('a permanent error ends the job with the runner’s error', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    const pod = await rig.podOf(id);
    const message = JSON.stringify({ type: 'result', error: jobErrorOf('no_video_stream', 1), steps: [] });
    await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 10, message }));
    expect(await rig.ended(id)).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'no_video_stream' } });
    await rig.becomes(`mj-${id}`, 'Failed', 'True/NoVideoStream');
    expect((await rig.mediaJob(id)).status?.error).toMatchObject({ code: 'no_video_stream' });
  });

  test('an attempt with a transient error is counted and repeated in a new Job', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    const pod = await rig.podOf(id);
    await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 137, reason: 'OOMKilled' }));
    await rig.node.run(await rig.jobOf(id, 2), scriptedRunner);
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 1 });
  });
});

describe.concurrent('a disruption costs no attempt', () => {
  const disruptions: [string, (rig: ControllerRig, pod: Pod, id: string) => Promise<void>][] = [
    [
      'when the pod is evicted',
      (rig, pod) =>
        rig.node.setStatus(pod, failedStatus(pod, { exitCode: 137 }, disruptionTarget('EvictionByEvictionAPI'))),
    ],
    [
      'when the Job is deleted',
      (rig, _, id) => rig.admin.delete(jobs, { namespace: rig.namespace, name: `mj-${id}-1` }),
    ],
    [
      'when the pod is deleted',
      async (rig, pod) => {
        await rig.node.bind(pod);
        await rig.node.setStatus(pod, runningStatus(pod));
        await rig.admin.delete(pods, { namespace: rig.namespace, name: pod.metadata?.name ?? '' });
        await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 143 }));
        await rig.node.removePod(pod);
      },
    ],
  ];
  test.for(disruptions)('%s', async ([, disrupt], { openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    const pod = await rig.podOf(id);
    await until('the status shows the attempt', async () => (await rig.mediaJob(id)).status?.attempt === 1);
    await disrupt(rig, pod, id);
    await rig.node.run(await rig.jobOf(id, 2), scriptedRunner);
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  });

  test('C26.2: suspending and resuming a job costs no attempt', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await rig.jobOf(id);
    const suspend = (isSo: boolean) =>
      rig.admin.mergePatch(mediaJobs, { namespace: rig.namespace, name: `mj-${id}` }, { spec: { suspend: isSo } });
    await suspend(true);
    await rig.jobsAre(0);
    await rig.becomes(`mj-${id}`, 'Suspended', 'True/Suspended');
    expect(await rig.find(id)).toMatchObject({ status: 'processing', phase: 'suspended' });
    await suspend(false);
    await rig.node.run(await rig.jobOf(id, 2), scriptedRunner);
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
    await rig.becomes(`mj-${id}`, 'Suspended', 'False/Resumed');
  });

  test('a disrupted attempt that had already written its results ends the job with them', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    const pod = await rig.podOf(id);
    await rig.node.execute(pod, scriptedRunner, { isSilent: true });
    await rig.node.setStatus(pod, failedStatus(pod, { exitCode: 137 }, disruptionTarget('DeletionByTaintManager')));
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  });

  test('a namespace that is deleted and created again costs no failure', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await rig.podOf(id);
    await kubectl(server, ['delete', 'namespace', rig.namespace, '--wait']);
    expect(await rig.find(id)).toMatchObject({ status: 'processing' });
    await kubectl(server, ['create', 'namespace', rig.namespace]);
    rig.runAll(scriptedRunner);
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', failures: 0 });
  });
});

describe.concurrent('a job that is ended from outside', () => {
  test('a cancelled job has its Job and its pod deleted', async ({ openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    await rig.podOf(id);
    await rig.cancel(id);
    await rig.jobsAre(0);
    await until('the pod is deleted', () => areDeleted(rig.admin.list(pods, { namespace: rig.namespace })));
    await rig.becomes(`mj-${id}`, 'Failed', 'True/Cancelled');
    expect((await rig.mediaJob(id)).status?.phase).toBe('cancelled');
  });

  test.for([
    ['deleted', []],
    ['deleted and kept by a finalizer', ['example.com/keep']],
  ] as const)('a job whose MediaJob is %s is cancelled', async ([, finalizers], { openRig }) => {
    const rig = await openRig();
    rig.startWorker();
    const id = await rig.submit('video:cover');
    await rig.jobOf(id);
    const mediaJob = { namespace: rig.namespace, name: `mj-${id}` };
    await rig.admin.mergePatch(mediaJobs, mediaJob, { metadata: { finalizers } });
    await rig.admin.delete(mediaJobs, mediaJob);
    expect(await rig.ended(id)).toMatchObject({ status: 'cancelled' });
    await rig.jobsAre(0);
    // Else its namespace and the definitions could not be deleted.
    await rig.admin.mergePatch(mediaJobs, mediaJob, { metadata: { finalizers: [] } }).catch(unlessDeleted);
  });

  test('a job that has ended keeps its MediaJob until the TTL has passed', async ({ openRig }) => {
    const rig = await openRig({ MEDIA_JOB_TTL: '1s' });
    rig.startWorker();
    rig.runAll(scriptedRunner);
    const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
    await rig.ended(id);
    await until('the MediaJob is deleted', () => areDeleted(rig.admin.list(mediaJobs, { namespace: rig.namespace })));
    await until('its Job is deleted', () => areDeleted(rig.admin.list(jobs, { namespace: rig.namespace })));
    expect(await rig.find(id)).toMatchObject({ status: 'completed' });
  });
});

describe.concurrent('a MediaJob from kubectl', () => {
  test('a MediaJob becomes a job with its UID and completes', async ({ openRig }) => {
    const rig = await openRig();
    await rig.writeImage();
    rig.startWorker();
    rig.runAll();
    await rig.applyMediaJob('by-hand', { type: 'image:thumbnail', hash: 'by-hand', source: 'source' });
    await kubectl(server, ['wait', '-n', rig.namespace, '--for=condition=Complete', '--timeout=90s', 'mj/by-hand']);
    const { metadata, status } = await rig.mediaJobNamed('by-hand');
    const job = await rig.find(metadata?.uid ?? '');
    expect(job).toMatchObject({ status: 'completed', hash: 'by-hand', queue: 'default' });
    expect(status).toMatchObject({ jobId: job.id, phase: 'completed', results: { key: expect.any(String) as string } });
  });

  test('a MediaJob that equals a completed job shows the results of that job', async ({ openRig }) => {
    const rig = await openRig();
    await rig.writeImage();
    rig.startWorker();
    rig.runAll();
    const id = await rig.submit('image:thumbnail', { hash: 'twice' });
    await rig.ended(id);
    await rig.applyMediaJob('again', { type: 'image:thumbnail', hash: 'twice', source: 'source' });
    await until('it is complete', async () => conditionOf(await rig.mediaJobNamed('again'), 'Complete') !== undefined);
    expect((await rig.mediaJobNamed('again')).status).toMatchObject({ jobId: id, phase: 'completed' });
    expect(await rig.node.jobs()).toHaveLength(1);
  });

  test('a MediaJob whose source does not exist fails with the reason in condition, error and Event', async ({
    openRig,
  }) => {
    const rig = await openRig();
    rig.startWorker();
    await rig.applyMediaJob('none', { type: 'video:transcode', hash: 'none', source: 'nowhere.mp4' });
    await rig.becomes('none', 'Failed', 'True/Refused');
    const { status } = await rig.mediaJobNamed('none');
    expect(status?.conditions?.[0]?.message).toMatch(/^spec\.source: ".+" does not exist in the source bucket$/);
    expect(status?.error).toMatchObject({ code: 'source_not_found' });
    await until('there is an Event', async () => {
      const { items } = await rig.admin.list(events, { namespace: rig.namespace });
      return items.some(({ reason, regarding }) => reason === 'Refused' && regarding?.name === 'none');
    });
  });
});
