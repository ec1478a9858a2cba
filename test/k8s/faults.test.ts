import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { leases, mediaJobs } from '#platform/kubernetes/objects.ts';
import { endPrograms } from '../../testing/programs.ts';
import { adminCredentials, clientFor, newNamespace, server, until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { proxiedKubeconfig } from '../../testing/k8s/kubeconfig.ts';
import { type Pod, TestNode } from '../../testing/k8s/node.ts';
import { runningStatus } from '../../testing/k8s/pod-states.ts';
import { leaveThumbnail, openWorkplace } from '../../testing/k8s/workers.ts';

// The leader is paused and resumed, the API server is stopped: each job ends exactly once with the right outcome
// (C12.1), and a disruption costs no attempt (C12.10).

beforeAll(async () => {
  await installCrds();
  return endPrograms;
});

const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };

const isWrite = (line: string) => !line.startsWith('GET') && !line.includes('/leases');

/** A worker of this process behind a proxy, and two pods of image jobs that run. */
async function openScene() {
  const rig = await openControllerRig();
  const proxy = await FaultyProxy.start();
  const client = new KubeClient(adminCredentials(proxy.url), { timeoutMs: 5_000 });
  onTestFinished(() => client.close());
  rig.startWorker({ kubernetes: { client } });
  const ids = [await submitted(rig), await submitted(rig)];
  await until('the Jobs are there', async () => (await rig.node.jobs()).length === 2, 40_000);
  const pods: Pod[] = [];
  for (const job of await rig.node.jobs()) {
    const pod = await rig.node.makePod(job);
    await rig.node.setStatus(pod, runningStatus(pod));
    pods.push(pod);
  }
  return { rig, proxy, ids, pods };
}

async function submitted(rig: ControllerRig): Promise<string> {
  return rig.submit('image:thumbnail', thumbnail);
}

const over = (rig: ControllerRig, ids: readonly string[]) =>
  until(
    'every job has ended',
    async () => (await Promise.all(ids.map(rig.find))).every(({ status }) => isFinal(status)),
    60_000,
  );

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

test.each(outages)(
  'after the API server %s for longer than a lease, ends of that time are recorded and nothing is done twice',
  async (_, away, back) => {
    const { rig, proxy, ids, pods } = await openScene();
    away(proxy);
    for (const pod of pods) await succeed(rig, pod);
    const late = await submitted(rig);
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    back(proxy);
    await over(rig, ids);
    await until('the late one has a Job', async () => (await rig.node.jobs()).length === 3, 60_000);
    const job = (await rig.node.jobs()).find(({ metadata }) => metadata?.name?.startsWith(`mj-${late}`));
    if (job === undefined) throw new Error('there is a Job');
    await succeed(rig, await rig.node.makePod(job));
    await over(rig, [late]);
    for (const id of ids) expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
    // Its start may have failed once, which costs no failure.
    expect(await rig.find(late)).toMatchObject({ status: 'completed', failures: 0 });
    expect(await rig.node.jobs()).toHaveLength(3);
  },
  120_000,
);

test('after every watch has expired, a new list shows an end and a deleted MediaJob', async () => {
  const { rig, proxy, ids, pods } = await openScene();
  const [ended = '', deleted = ''] = ids;
  proxy.refuse();
  const pod = pods.find(({ metadata }) => metadata?.labels?.['reelwright.dev/job-id'] === ended);
  if (pod === undefined) throw new Error('there is a pod');
  await succeed(rig, pod);
  await rig.admin.delete(mediaJobs, { namespace: rig.namespace, name: `mj-${deleted}` });
  proxy.answer(/[?&]watch=true/, 410, { times: 4, body: { kind: 'Status', code: 410, reason: 'Expired' } });
  proxy.accept();
  await over(rig, ids);
  expect(await rig.find(ended)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(await rig.find(deleted)).toMatchObject({ status: 'cancelled' });
  await until('its Job is deleted', async () => (await rig.node.jobs()).length === 1);
}, 120_000);

test('a leader that was paused while another took over writes nothing when it is resumed', async () => {
  const admin = clientFor();
  const namespace = await newNamespace(admin);
  const proxy = await FaultyProxy.start();
  const postgres = inject('postgres');
  if (!postgres) throw new Error('no PostgreSQL was started for this run');
  const { kubeconfigPath } = server;
  const workplace = await openWorkplace({
    postgresUrl: postgres.url,
    template: postgres.migratedTemplate,
    kubeconfigPath,
    namespace,
  });
  onTestFinished(async () => {
    await endPrograms();
    await workplace.close();
  });
  const node = new TestNode(admin, namespace);
  const holder = async () => {
    const lease = await admin.get(leases, { namespace, name: 'reelwright-controller' }).catch(() => null);
    return lease?.spec?.holderIdentity ?? '';
  };
  const paused = await workplace.start({ KUBECONFIG: await proxiedKubeconfig(proxy.url, onTestFinished) });
  await until('the first leads', async () => (await holder()) !== '', 60_000);
  const first = await holder();
  await workplace.start();
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push(await workplace.submit('image:thumbnail', thumbnail));
  await until('the Jobs are there', async () => (await node.jobs()).length === 3, 60_000);
  paused.signal('SIGSTOP');
  for (const job of await node.jobs()) {
    const id = job.metadata?.labels?.['reelwright.dev/job-id'] ?? '';
    await workplace.leaveThumbnail(id, (await workplace.find(id)).hash);
    await node.setStatus(await node.makePod(job), { phase: 'Succeeded' });
  }
  await until('the second leads', async () => !['', first].includes(await holder()), 60_000);
  const allOver = async () =>
    (await Promise.all(ids.map((id) => workplace.find(id)))).every(({ status }) => isFinal(status));
  await until('every job has ended', allOver, 60_000);
  const before = proxy.requests.length;
  paused.signal('SIGCONT');
  await until('the first looks at the lease again', () =>
    proxy.requests.slice(before).some((line) => line.startsWith('GET') && line.includes('/leases/')),
  );
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(proxy.requests.slice(before).filter(isWrite)).toEqual([]);
  for (const id of ids) expect(await workplace.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(await node.jobs()).toHaveLength(3);
}, 150_000);

test('in a steady state nothing is written during several full lists', async () => {
  const rig = await openControllerRig();
  const proxy = await FaultyProxy.start();
  const client = new KubeClient(adminCredentials(proxy.url));
  onTestFinished(() => client.close());
  rig.startWorker({ kubernetes: { client, relistEveryMs: 2_000 } });
  const ids = [await submitted(rig), await submitted(rig), await submitted(rig)];
  await until('the Jobs are there', async () => (await rig.node.jobs()).length === 3, 40_000);
  const [running, ...rest] = await rig.node.jobs();
  if (running === undefined) throw new Error('there is a Job');
  // One has ended, one runs, and one has no pod yet.
  const [done] = rest;
  if (done === undefined) throw new Error('there is a second Job');
  await succeed(rig, await rig.node.makePod(done));
  const pod = await rig.node.makePod(running);
  await rig.node.setStatus(pod, runningStatus(pod));
  const lists = () =>
    proxy.requests.filter(
      (line) => /^GET \S+\/(mediajobs|runnerpools|jobs|pods)\?/.test(line) && !line.includes('watch='),
    );
  // Statuses of jobs are written within five seconds, of pools within ten.
  await new Promise((resolve) => setTimeout(resolve, 17_000));
  const [from, listsFrom] = [proxy.requests.length, lists().length];
  await until('each was listed three times', () => lists().length >= listsFrom + 12, 60_000);
  expect(proxy.requests.slice(from).filter(isWrite)).toEqual([]);
  expect((await Promise.all(ids.map(rig.find))).filter(({ status }) => status === 'completed')).toHaveLength(1);
}, 120_000);
