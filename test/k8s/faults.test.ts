import { expect } from 'vitest';
import { mediaJobs } from '#platform/kubernetes/objects.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, rigTest as test } from '../../testing/k8s/controller.ts';
import type { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import type { Pod } from '../../testing/k8s/node.ts';
import { runningStatus } from '../../testing/k8s/pod-states.ts';
import { leaveThumbnail } from '../../testing/k8s/workers.ts';

// The API server is stopped, and its watches expire: each job ends exactly once with the right outcome (C12.1), and a
// disruption costs no attempt (C12.10). A paused leader is leader-paused.test.ts's matter.

const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };
const submitted = (rig: ControllerRig) => rig.submit('image:thumbnail', thumbnail);

/** A worker of this process behind a proxy, and two pods of image jobs that run. */
async function openScene(rig: ControllerRig) {
  const proxy = await rig.startProxiedWorker({ timeoutMs: 5_000 });
  const ids = [await submitted(rig), await submitted(rig)];
  const pods: Pod[] = [];
  for (const job of await rig.jobsAre(2)) {
    const pod = await rig.node.podOf(job);
    await rig.node.setStatus(pod, runningStatus(pod));
    pods.push(pod);
  }
  return { proxy, ids, pods };
}

const attemptOf = ({ metadata }: Pod) => Number(metadata?.labels?.['reelwright.dev/attempt']);

async function succeed(rig: ControllerRig, pod: Pod): Promise<void> {
  const id = pod.metadata?.labels?.['reelwright.dev/job-id'] ?? '';
  await leaveThumbnail(rig.media, { jobId: id, hash: (await rig.find(id)).hash, attempt: attemptOf(pod) });
  await rig.node.setStatus(pod, { phase: 'Succeeded' });
}

const outages: [string, (proxy: FaultyProxy) => void, (proxy: FaultyProxy) => void][] = [
  ['refuses connections', (proxy) => proxy.refuse(), (proxy) => proxy.accept()],
  ['falls silent', (proxy) => proxy.mute({ alsoNew: true }), (proxy) => proxy.speak()],
];

test.for(outages)(
  'after the API server %s for longer than a lease, ends of that time are recorded and nothing is done twice',
  async ([, away, back], { openRig }) => {
    const rig = await openRig();
    const { proxy, ids, pods } = await openScene(rig);
    away(proxy);
    const awayAt = Date.now();
    for (const pod of pods) await succeed(rig, pod);
    const late = await submitted(rig);
    await until('a lease has run out', () => Date.now() - awayAt > 12_000);
    back(proxy);
    for (const id of ids) expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
    await rig.jobsAre(3);
    const job = (await rig.node.jobs()).find(({ metadata }) => metadata?.name?.startsWith(`mj-${late}`));
    if (job === undefined) throw new Error('there is a Job');
    await succeed(rig, await rig.node.podOf(job));
    // Its start may have failed once, which costs no failure.
    expect(await rig.ended(late)).toMatchObject({ status: 'completed', failures: 0 });
    expect(await rig.node.jobs()).toHaveLength(3);
  },
);

test('after every watch has expired, a new list shows an end and a deleted MediaJob', async ({ openRig }) => {
  const rig = await openRig();
  const { proxy, ids, pods } = await openScene(rig);
  const [ended = '', deleted = ''] = ids;
  proxy.refuse();
  const pod = pods.find(({ metadata }) => metadata?.labels?.['reelwright.dev/job-id'] === ended);
  if (pod === undefined) throw new Error('there is a pod');
  await succeed(rig, pod);
  await rig.admin.delete(mediaJobs, { namespace: rig.namespace, name: `mj-${deleted}` });
  proxy.answer(/[?&]watch=true/, 410, { times: 4, body: { kind: 'Status', code: 410, reason: 'Expired' } });
  proxy.accept();
  expect(await rig.ended(ended)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(await rig.ended(deleted)).toMatchObject({ status: 'cancelled' });
  await rig.jobsAre(1);
});
