import { request } from 'node:http';
import { expect } from 'vitest';
import { runnerPools } from '#platform/kubernetes/objects.ts';
import { reportSecretOf, reportTokenOf } from '../../controller/execution/reports.ts';
import type { Note } from '../../testing/controller-rig.ts';
import { freePort } from '../../testing/free-port.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { server, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, rigTest as test } from '../../testing/k8s/controller.ts';
import { scriptedRunner } from '../../testing/k8s/node.ts';

const isWrite = (line: string) => !line.startsWith('GET') && !/\/leases|\/runnerpools/.test(line);

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

async function submitMany(rig: ControllerRig, count: number, source: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await rig.submit('video:cover', { source: `${rig.notes}/${source}` }));
  return ids;
}

test.concurrent(
  'C26.1: a pool never runs more jobs than its concurrency, which kubectl scale changes while jobs run',
  async ({ openRig }) => {
    const rig = await openRig({ WORKER_CONCURRENCY: '1' });
    rig.startWorker();
    rig.runAll(scriptedRunner);
    const ids = await submitMany(rig, 4, 'slow-1500');
    await until('the first runs', async () => (await rig.readNotes()).some(({ step }) => step === 'process'));
    const scaledAt = Date.now();
    await kubectl(server, ['scale', '-n', rig.namespace, '--replicas=2', 'rp/default']);
    for (const id of ids) expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 1 });
    const notes = await rig.readNotes();
    const done = notes.findIndex(({ at }) => at > scaledAt);
    expect(mostAttemptsAtOnce(notes.slice(0, done))).toBe(1);
    expect(mostAttemptsAtOnce(notes)).toBe(2);
  },
);

test.concurrent('jobs continue when the leader stops, each with one Job', async ({ openRig }) => {
  const rig = await openRig();
  const first = rig.startWorker();
  const ids = await submitMany(rig, 3, 'ok');
  await rig.jobsAre(3);
  rig.startWorker();
  await first.stop();
  rig.runAll(scriptedRunner);
  for (const id of ids) expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(await rig.node.jobs()).toHaveLength(3);
});

test.concurrent('a brief job costs at most four writes to the API server', async ({ openRig }) => {
  const rig = await openRig();
  const proxy = await rig.startProxiedWorker();
  const pools = async () => (await rig.admin.list(runnerPools, { namespace: rig.namespace })).items;
  await until('it leads', async () => (await pools()).length === 2);
  const before = proxy.requests.length;
  const ids = await submitMany(rig, 3, 'ok');
  // Only the end of each pod is reported, as for a pod that ends at once.
  for (const job of await rig.jobsAre(3)) {
    const pod = await rig.node.podOf(job);
    await rig.node.execute(pod, scriptedRunner, { isSilent: true });
    await rig.node.setStatus(pod, { phase: 'Succeeded' });
  }
  for (const id of ids) {
    await rig.ended(id);
    await until('it says so', async () => conditionOf(await rig.mediaJob(id), 'Complete') !== undefined);
  }
  const writes = proxy.requests
    .slice(before)
    .filter(isWrite)
    .map((line) => line.replaceAll(/[0-9a-f-]{36}/g, 'ID'));
  expect(writes.length, writes.join('\n')).toBeLessThanOrEqual(3 * 4);
});

test.concurrent('reports of a runner reach the row with its own token and with no other', async ({ openRig }) => {
  const port = await freePort();
  const rig = await openRig({ WORKER_METRICS_PORT: String(port), HOST: '127.0.0.1' });
  rig.startWorker();
  const id = await rig.submit('video:cover', { source: `${rig.notes}/ok` });
  await rig.jobsAre(1);
  const report = { type: 'progress', phase: 'encoding', fraction: 0.5 };
  const secret = reportSecretOf(rig.config.webhookSecret);
  const post = (token: string) => posted(`http://127.0.0.1:${port}/reports/${id}/1`, token, report);
  expect(await post(reportTokenOf({ jobId: id, attempt: 2 }, secret))).toBe(403);
  expect(await rig.find(id)).toMatchObject({ phase: 'scheduling' });
  expect(await post(reportTokenOf({ jobId: id, attempt: 1 }, secret))).toBe(204);
  expect(await rig.find(id)).toMatchObject({ phase: 'encoding', progress: 42 });
  await until('it is mirrored', async () => (await rig.mediaJob(id)).status?.progress === 42);
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
