import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { putClip, putLongClip } from './support/clips.ts';
import { processesOf } from './support/host-processes.ts';
import { apply, kubectl } from './support/kubectl.ts';
import { mediaJobManifest } from './support/objects.ts';
import { release } from './support/release.ts';
import {
  cancelUnfinished,
  completed,
  eventually,
  getJob,
  inRunners,
  newHash,
  podAtStep,
  runnerPods,
  submit,
} from './support/service.ts';
import { showClusterOnFailure } from './support/show-cluster.ts';
import { endsOnce, startReceiver } from './support/webhooks.ts';

// What only a real kubelet does to a pod: each job ends exactly once, with the right outcome, and a disruption costs no
// attempt. Deleted pods and controllers that are killed, are paused or lose the API server are in test/k8s.

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

describe('a disruption of a running pod costs no attempt', () => {
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

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The kubelet has restarted it, since its probes failed while it was paused.
  }
}
