import { expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs, runnerPools } from '#platform/kubernetes/objects.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { freePort } from '../../testing/free-port.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { openControllerRig } from '../../testing/k8s/controller.ts';
import { type PlayedPod, PodPlayer } from '../../testing/k8s/pod-player.ts';

// How a chunked encode shares the slots of its pool with image jobs that come at once. The pods are played.

const thumbnails = 200;
const chunks = 6;
const slots = 3;

async function openScene() {
  const port = String(await freePort());
  const rig = await openControllerRig({
    CHUNK_LENGTH: '6s',
    RUNNER_POOLS: JSON.stringify({ default: { concurrency: slots } }),
    // The runners of batches ask the worker for their tasks.
    WORKER_METRICS_PORT: port,
    HOST: '127.0.0.1',
    REPORT_URL: `http://127.0.0.1:${port}`,
  });
  await rig.writeSource('source', Buffer.from('a video'));
  const gates = Array.from({ length: chunks }, () => Promise.withResolvers<void>());
  const mayEnd = async (chunk: number) => gates[chunk]?.promise;
  const areTaken = Promise.withResolvers<void>();
  // Every pod after the first ones waits until the controller has taken back those that are too many.
  const mayBegin = async ({ part }: PlayedPod) => Number(part) < slots || areTaken.promise;
  const player = new PodPlayer({ ...rig, workplace: rig }, { chunks, mayBegin, mayEnd });
  onTestFinished(() => player.stop());
  player.start();
  const metrics = new Metrics();
  rig.startWorker({ metrics });
  const id = await rig.submit('video:transcode', { options: { encrypt: true } });
  return { rig, player, id, metrics, areTaken, release: (chunk: number) => gates[chunk]?.resolve() };
}

test(`C26.4, C26.5: ${thumbnails} thumbnails beside a chunked encode on every slot begin with its next chunk's end, and it goes on afterwards`, async () => {
  const { rig, player, id, metrics, areTaken, release } = await openScene();
  const chunkPods = async () =>
    (await rig.admin.get(jobs, { namespace: rig.namespace, name: `mj-${id}-1-c` })).spec?.parallelism;
  await until('the chunks have every slot', () => player.chunksBegun === slots);
  const pool = { namespace: rig.namespace, name: 'default' };
  const shownActive = async () => (await rig.admin.get(runnerPools, pool)).status?.active;
  await until('ACTIVE of the pool counts the pods of the chunks', async () => (await shownActive()) === slots);
  const gauge = async () => (await metrics.registry.getSingleMetric('svc_queue_tasks')?.get())?.values ?? [];
  const active = async () =>
    (await gauge()).find(({ labels }) => labels['queue'] === 'default' && labels['state'] === 'active');
  await until('so does the metric', async () => (await active())?.value === slots);
  const options = { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] };
  const ids = await Promise.all(Array.from({ length: thumbnails }, () => rig.submit('image:thumbnail', { options })));
  release(0);
  await until('the chunks have given up a slot', async () => (await chunkPods()) === 2);
  await until('the first thumbnail is begun', () => player.chunksBeforeTasks.length > 0);
  release(1);
  await until('the chunks have one slot', async () => (await chunkPods()) === 1);
  const left = async () => (await rig.jobs.statesOf(ids)).filter(({ status }) => !isFinal(status));
  await until('all thumbnails are final', async () => (await left()).length === 0);
  areTaken.resolve();
  // A third chunk is under way, and no pod of another was started since they were submitted.
  expect(Math.max(...player.chunksBeforeTasks)).toBe(slots);
  expect(player.chunksBeforeTasks).toHaveLength(thumbnails);
  await until('the chunks have every slot again', async () => (await chunkPods()) === slots);
  for (let chunk = 2; chunk < chunks; chunk += 1) release(chunk);
  await until('the job has ended', async () => isFinal((await rig.find(id)).status));
  expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0, disruptions: 0 });
  const once = Object.fromEntries(Array.from({ length: chunks }, (_, chunk) => [chunk, 1]));
  expect(Object.fromEntries(player.begun)).toMatchObject({ ...once, split: 1, finish: 1 });
  expect(player.podsMax).toBe(slots);
  const states = await rig.jobs.statesOf(ids);
  expect(new Set(states.map(({ status, attempt }) => `${status} at ${attempt}`))).toEqual(new Set(['completed at 1']));
});
