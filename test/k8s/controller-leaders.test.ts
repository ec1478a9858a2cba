import { request } from 'node:http';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs, mediaJobs, runnerPools } from '#platform/kubernetes/objects.ts';
import { reportSecretOf, reportTokenOf } from '../../controller/execution/reports.ts';
import type { Note } from '../../testing/controller-rig.ts';
import { freePort } from '../../testing/free-port.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { adminCredentials, clientFor, server, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { scriptedRunner } from '../../testing/k8s/node.ts';

beforeAll(installCrds);

const isWrite = (line: string) => !line.startsWith('GET') && !/\/leases|\/runnerpools/.test(line);

function running(rig: ControllerRig) {
  const watch = rig.node.runAll(scriptedRunner);
  onTestFinished(() => watch.stop());
}

/** The most attempts that ran at once, from the beginning of their first step to the end of their last. */
function mostAttemptsAtOnce(notes: readonly Note[]): number {
  let [now, most] = [0, 0];
  for (const { step, what } of notes) {
    if (step === 'fetch' && what === 'begin') now += 1;
    if (step === 'publish' && what === 'end') now -= 1;
    most = Math.max(most, now);
  }
  return most;
}

const allOver = (rig: ControllerRig, ids: readonly string[], withinMs: number) =>
  until(
    'every job has ended',
    async () => (await Promise.all(ids.map(rig.find))).every(({ status }) => isFinal(status)),
    withinMs,
  );

test('C26.1: a pool never runs more jobs than its concurrency, which kubectl scale changes while jobs run', async () => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '1' });
  rig.startWorker();
  running(rig);
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) ids.push(await rig.submit('video:cover', { source: `${rig.notes}/slow-1500` }));
  await until('the first runs', async () => (await rig.readNotes()).some(({ step }) => step === 'process'), 30_000);
  const scaledAt = Date.now();
  await kubectl(server, ['scale', '-n', rig.namespace, '--replicas=2', 'rp/default']);
  await allOver(rig, ids, 50_000);
  const notes = await rig.readNotes();
  const done = notes.findIndex(({ at }) => at > scaledAt);
  expect(mostAttemptsAtOnce(notes.slice(0, done))).toBe(1);
  expect(mostAttemptsAtOnce(notes)).toBe(2);
  for (const id of ids) expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
});

test('jobs continue when the leader stops, each with one Job', async () => {
  const rig = await openControllerRig();
  const first = rig.startWorker();
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push(await rig.submit('video:cover', { source: `${rig.notes}/ok` }));
  await until('the Jobs are there', async () => (await rig.node.jobs()).length === 3);
  rig.startWorker();
  await first.stop();
  running(rig);
  await allOver(rig, ids, 50_000);
  for (const id of ids) expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(await rig.node.jobs()).toHaveLength(3);
});

test('a job whose worker died between the claim and the MediaJob continues', async () => {
  const rig = await openControllerRig();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  await rig.jobs.claim({ jobId: id, attempt: 1, owner: 'kubernetes', leaseMs: Infinity });
  rig.startWorker();
  running(rig);
  await allOver(rig, [id], 30_000);
  expect(await rig.find(id)).toMatchObject({ status: 'completed', failures: 0 });
});

test('a brief job costs at most four writes to the API server', async () => {
  const rig = await openControllerRig();
  const proxy = await FaultyProxy.start();
  const client = new KubeClient(adminCredentials(proxy.url));
  onTestFinished(() => client.close());
  rig.startWorker({ kubernetes: { client } });
  await until(
    'it leads',
    async () => (await rig.admin.list(runnerPools, { namespace: rig.namespace })).items.length === 2,
  );
  const before = proxy.requests.length;
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push(await rig.submit('video:cover', { source: `${rig.notes}/ok` }));
  await until('the Jobs are there', async () => (await rig.node.jobs()).length === 3);
  // Only the end of each pod is reported, as for a pod that ends at once.
  for (const job of await rig.node.jobs()) {
    const pod = await rig.node.makePod(job);
    await rig.node.execute(pod, scriptedRunner, { isSilent: true });
    await rig.node.setStatus(pod, { phase: 'Succeeded' });
  }
  await allOver(rig, ids, 30_000);
  for (const id of ids)
    await until('it says so', async () => conditionOf(await rig.mediaJob(id), 'Complete') !== undefined);
  const writes = proxy.requests
    .slice(before)
    .filter(isWrite)
    .map((line) => line.replaceAll(/[0-9a-f-]{36}/g, 'ID'));
  expect(writes.length, writes.join('\n')).toBeLessThanOrEqual(3 * 4);
});

test('pools are created as configured, and a concurrency set by hand stays', async () => {
  const pools = { default: { concurrency: 3, nodeSelector: { disk: 'fast' } }, 'video-large': { concurrency: 1 } };
  const rig = await openControllerRig({ RUNNER_POOLS: JSON.stringify(pools) });
  const ref = { namespace: rig.namespace, name: 'default' };
  const pool = () => rig.admin.get(runnerPools, ref);
  const first = rig.startWorker();
  await until('the pool is there', async () => (await pool().catch(() => null))?.spec.nodeSelector !== undefined);
  expect((await pool()).spec).toMatchObject({ concurrency: 3, nodeSelector: { disk: 'fast' } });
  await kubectl(server, ['scale', '-n', rig.namespace, 'rp/default', '--replicas=8']);
  await first.stop();
  rig.startWorker({
    config: { ...rig.config, kubernetes: { ...rig.kubernetes, runnerPools: { default: { concurrency: 3 } } } },
  });
  await until('the node selector is deleted', async () => (await pool()).spec.nodeSelector === undefined);
  expect((await pool()).spec.concurrency).toBe(8);
});

test('reports of a runner reach the row with its own token and with no other', async () => {
  const port = await freePort();
  const rig = await openControllerRig({ WORKER_METRICS_PORT: String(port), HOST: '127.0.0.1' });
  rig.startWorker();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  await until('it has begun', async () => (await rig.node.jobs()).length === 1);
  const report = { type: 'progress', phase: 'encoding', fraction: 0.5 };
  const secret = reportSecretOf(rig.config.webhookSecret);
  const post = (token: string) => posted(`http://127.0.0.1:${port}/reports/${id}/1`, token, report);
  expect(await post(reportTokenOf({ jobId: id, attempt: 2 }, secret))).toBe(403);
  expect(await rig.find(id)).toMatchObject({ phase: 'scheduling' });
  expect(await post(reportTokenOf({ jobId: id, attempt: 1 }, secret))).toBe(204);
  expect(await rig.find(id)).toMatchObject({ phase: 'encoding', progress: 42 });
  await until('it is mirrored', async () => (await rig.mediaJob(id)).status?.progress === 42, 10_000);
});

test('jobs are created again after their whole namespace was wiped', async () => {
  const rig = await openControllerRig();
  rig.startWorker();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  await until('it has begun', async () => (await rig.node.jobs()).length === 1);
  // The namespace controller of a cluster marks the namespace before it removes what is in it.
  const admin = clientFor();
  await kubectl(server, ['delete', 'namespace', rig.namespace, '--wait=false']);
  for (const { metadata } of await rig.node.jobs()) {
    await admin.delete(jobs, { namespace: rig.namespace, name: metadata?.name ?? '' });
  }
  await admin.delete(mediaJobs, { namespace: rig.namespace, name: `mj-${id}` });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(await rig.find(id)).toMatchObject({ status: 'processing' });
});

function posted(url: string, token: string, body: object): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = request(url, { method: 'POST', headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).end(JSON.stringify(body));
  });
}
