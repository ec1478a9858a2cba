import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { putClip, putLongClip, putImage } from './support/clips.ts';
import { apiServerPid, processesOf } from './support/host-processes.ts';
import { apply, kubectl, kubectlWith } from './support/kubectl.ts';
import { mediaJobManifest } from './support/objects.ts';
import { release } from './support/release.ts';
import {
  cancelUnfinished,
  completed,
  eventually,
  getJob,
  inRunners,
  leaderPod,
  newHash,
  podAtStep,
  runnerPods,
  submit,
} from './support/service.ts';
import { showClusterOnFailure } from './support/show-cluster.ts';
import { endsOnce, startReceiver } from './support/webhooks.ts';

// Kills and evictions on a real cluster: each job ends exactly once, with the right outcome, and a disruption costs no
// attempt. Crashes of the controller before and after each of its writes are in test/k8s/crashes.test.ts.

let clip: string;
let longClip: string;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  clip = await putClip();
  longClip = await putLongClip();
  receiver = await startReceiver();
});
showClusterOnFailure();
afterEach(cancelUnfinished);
afterAll(() => receiver.close());

const start = (source = longClip) => submit({ type: 'video:transcode', source, callback_url: receiver.url });

const endedOnce = (id: string, status: string) => endsOnce(receiver, id, status);

const makePool = (name: string, spec: object) =>
  apply({
    apiVersion: 'reelwright.dev/v1alpha1',
    kind: 'RunnerPool',
    metadata: { name, namespace: release.runners },
    spec: { concurrency: 1, ...spec },
  });
const startIn = async (pool: string, source: string) => {
  const name = `in-${pool}`;
  const spec = { type: 'video:transcode', hash: newHash(), source, pool, callbackUrl: receiver.url };
  await apply(mediaJobManifest(name, spec));
  return await inRunners('get', 'mj', name, '-o', 'jsonpath={.metadata.uid}');
};

/** Starts more jobs than can run at once. */
const startMany = async () => {
  const source = await putImage();
  const video = await start(clip);
  const images = await Promise.all(
    Array.from({ length: 5 }, () => submit({ type: 'image:thumbnail', source, callback_url: receiver.url })),
  );
  return [video, ...images];
};
/**
 * Expects every job to complete with one webhook and no counted failure, in one Job of its own, or of a batch of image
 * jobs. The attempt may be the second: when the leader is lost just after claiming a job, the next leader cannot know
 * whether a Job was created, and starts a new attempt, as after any disruption.
 */
const allComplete = async (ids: readonly string[]) => {
  for (const id of ids) await completed(id);
  const ends = await Promise.all(ids.map((id) => endedOnce(id, 'completed')));
  expect(ends).toEqual(ids.map(() => ({ failures: 0 })));
  const jobs = await inRunners('get', 'jobs', '-o', 'jsonpath={.items[*].metadata.labels.reelwright\\.dev/job-id}');
  const [ofVideo, ...ofImages] = ids.map((id) => jobs.split(id).length - 1);
  expect(ofVideo).toBe(1);
  for (const count of ofImages) expect(count).toBeLessThanOrEqual(1);
};

describe('a disruption of a running pod costs no attempt', () => {
  test('a job whose pod is deleted completes in its next attempt at no cost', async () => {
    const id = await start();
    const pod = await podAtStep(id, 'process');
    await inRunners('delete', 'pod', pod.metadata.name, '--wait=false');
    expect(await completed(id)).toMatchObject({ attempt: 2 });
    expect(await endedOnce(id, 'completed')).toEqual({ failures: 0 });
  });

  test('a job whose pod is evicted completes in its next attempt at no cost', async () => {
    const id = await start();
    const { name, namespace } = (await podAtStep(id, 'process')).metadata;
    await evict({ name, namespace });
    expect(await completed(id)).toMatchObject({ attempt: 2 });
    expect(await endedOnce(id, 'completed')).toEqual({ failures: 0 });
  });

  test('a job whose node is drained completes on the other node at no cost', async () => {
    const id = await start();
    const { spec } = await podAtStep(id, 'process');
    const node = spec.nodeName ?? '';
    try {
      const options = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=150s'];
      await kubectl('drain', node, ...options);
      expect(await completed(id)).toMatchObject({ attempt: 2 });
      const nodes = (await runnerPods(id)).filter(
        ({ metadata }) => metadata.labels?.['reelwright.dev/attempt'] === '2',
      );
      expect(nodes.map((pod) => pod.spec.nodeName)).toEqual([expect.not.stringMatching(new RegExp(`^${node}$`))]);
      expect(await endedOnce(id, 'completed')).toEqual({ failures: 0 });
    } finally {
      await kubectl('uncordon', node);
    }
  });
});

describe('a failure of the attempt itself is counted', () => {
  test('a job that runs out of memory three times fails with `resource_exhausted`', async () => {
    // Far below what Node needs to start; with a little less than it needs, it would read its pages again and again.
    await makePool('tiny', { resources: { requests: { memory: '20Mi' }, limits: { memory: '20Mi' } } });
    const id = await startIn('tiny', clip);
    const job = await eventually(
      () => getJob(id).catch(() => null),
      (current) => current?.status === 'failed',
      180_000,
    );
    expect(job).toMatchObject({ attempt: 3, error: { code: 'resource_exhausted' } });
    // The third failure ends the job and is not counted as one to retry.
    expect(await endedOnce(id, 'failed')).toEqual({ failures: 2 });
    expect(await inRunners('get', 'mj', 'in-tiny', '-o', 'wide')).toMatch(/failed.*resource_exhausted/);
  });

  test.skipIf(!inject('e2e').seesPods)(
    'an attempt that hangs ends at its deadline and the next one completes',
    async () => {
      await makePool('hasty', { activeDeadlineSeconds: 45 });
      const id = await startIn('hasty', longClip);
      const pod = await podAtStep(id, 'process');
      for (const { pid } of await processesOf(pod)) signalIfThere(pid, 'SIGSTOP');
      expect(await completed(id)).toMatchObject({ attempt: 2 });
      expect(await endedOnce(id, 'completed')).toEqual({ failures: 1 });
    },
  );
});

describe.skipIf(!inject('e2e').seesPods)('losing the leading controller or the API server', () => {
  test('every job ends exactly once when the leading controller is killed', async () => {
    const before = await leaderPod();
    const ids = await startMany();
    await podAtStep(ids[0] ?? '', 'process');
    for (const { pid } of await processesOf(before)) process.kill(pid, 'SIGKILL');
    await allComplete(ids);
  });

  test('another controller leads while the leader is paused for 30 s, and no job ends twice after it resumes', async () => {
    const paused = await leaderPod();
    const video = await start(clip);
    await podAtStep(video, 'process');
    const pids = (await processesOf(paused)).map(({ pid }) => pid);
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    const resumed = sleep(30_000).then(() => pids.map((pid) => signalIfThere(pid, 'SIGCONT')));
    const more = await startMany();
    await eventually(leaderPod, ({ metadata }) => metadata.name !== paused.metadata.name, 40_000);
    await resumed;
    await allComplete([video, ...more]);
  });

  test('every job completes once when the API server stops for 30 s', async (context) => {
    const pid = await apiServerPid();
    context.skip(pid === null, 'the API server is not a process of this machine');
    if (pid === null) return;
    const ids = await startMany();
    await podAtStep(ids[0] ?? '', 'process');
    process.kill(pid, 'SIGSTOP');
    try {
      await sleep(30_000);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await allComplete(ids);
  });
});

function evict({ name, namespace }: { name: string; namespace: string }): Promise<string> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  return kubectlWith(JSON.stringify(eviction), 'create', '--raw', path, '-f', '-');
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The kubelet has restarted it, since its probes failed while it was paused.
  }
}
