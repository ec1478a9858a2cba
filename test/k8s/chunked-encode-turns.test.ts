import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs } from '#platform/kubernetes/objects.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { openControllerRig } from '../../testing/k8s/controller.ts';
import { thumbnail } from '../../testing/k8s/batch-rig.ts';
import { type PlayedPod, PodPlayer } from '../../testing/k8s/pod-player.ts';

// Long videos of two keys, and brief jobs, on a pool of one slot. The pods are played.

const chunks = 4;

const isImage = ({ part }: PlayedPod) => !/^\d|split|finish/.test(part);

/** A worker and played pods; the chunks of a video end as they are released. */
async function openScene(options: { readonly imageMs?: number } = {}) {
  const rig = await openControllerRig({
    CHUNK_LENGTH: '6s',
    RUNNER_POOLS: JSON.stringify({ default: { concurrency: 1 } }),
  });
  await rig.writeSource('source', Buffer.from('a video'));
  const gates = Array.from({ length: chunks }, () => Promise.withResolvers<void>());
  const begun: string[] = [];
  const begins = async ({ part, job }: PlayedPod) => {
    const jobId = job.metadata?.labels?.['reelwright.dev/job-id'] ?? '';
    begun.push(`${(await rig.find(jobId)).keyId} ${part}`);
  };
  const player = new PodPlayer(
    { ...rig, workplace: rig },
    {
      chunks,
      begins,
      // As long as a kubelet takes.
      mayBegin: () => sleep(2_000),
      mayEnd: async (chunk: number) => gates[chunk]?.promise,
      fateOf: (played) => (isImage(played) ? { runMs: options.imageMs ?? 500 } : undefined),
    },
  );
  onTestFinished(() => player.stop());
  player.start();
  const parallelism = async (id: string) =>
    (await rig.admin.get(jobs, { namespace: rig.namespace, name: `mj-${id}-1-c` })).spec?.parallelism;
  return {
    rig,
    player,
    begun,
    parallelism,
    release: (chunk: number) => gates[chunk]?.resolve(),
    releaseAll: () => gates.forEach((gate) => gate.resolve()),
    submitVideo: (keyId: string) => rig.submit('video:transcode', { keyId, options: { encrypt: false } }),
    submitImage: (keyId: string) => rig.submit('image:thumbnail', { ...thumbnail, keyId }),
    hasEnded: async (id: string) => isFinal((await rig.find(id)).status),
  };
}

test('C36.11: a long video leaves its only slot to another key at the end of a chunk, says whose turn it is, and goes on under the next leader', async () => {
  const scene = await openScene({ imageMs: 9_000 });
  const { rig, player, begun } = scene;
  const worker = rig.startWorker();
  const video = await scene.submitVideo('many');
  await until('its first chunk is encoded', () => begun.includes('many 0'));
  const images = [await scene.submitImage('few'), await scene.submitImage('few')];
  await until('the job of the other key waits', async () => (await rig.jobs.statesOf(images)).length === 2);
  scene.release(0);
  await until('the video has no pods', async () => (await scene.parallelism(video)) === 0);
  await until('the job of the other key runs', async () => (await rig.find(images[0] ?? '')).startedAt !== null);
  expect(
    begun.filter((name) => name === 'many 1'),
    'no further chunk has begun',
  ).toEqual([]);
  await until('it says why', async () => (await rig.find(video)).waitingReason !== null);
  expect((await rig.find(video)).waitingReason).toEqual({
    code: 'pool_full',
    message: expect.stringMatching(
      /^Its next chunk waits for the turn of its key: 0 jobs of its key run, its share is 1; [12] keys? waits?\.$/,
    ),
  });
  await worker.stop();
  rig.startWorker();
  scene.releaseAll();
  for (const id of [...images, video]) await until(`${id} has ended`, () => scene.hasEnded(id));
  for (const id of [...images, video])
    expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0, disruptions: 0 });
  expect((await rig.find(video)).waitingReason).toBeNull();
  const once = Object.fromEntries(Array.from({ length: chunks }, (_, chunk) => [chunk, 1]));
  expect(Object.fromEntries(player.begun)).toMatchObject({ ...once, split: 1, finish: 1 });
  expect(player.podsMax).toBe(1);
});

test('C36.11: long videos of two keys take the only slot of a pool in turns, before either has ended', async () => {
  const scene = await openScene();
  const { rig, begun } = scene;
  rig.startWorker();
  const one = await scene.submitVideo('one');
  await until('its first chunk is encoded', () => begun.includes('one 0'));
  const other = await scene.submitVideo('other');
  scene.releaseAll();
  for (const id of [one, other]) await until(`${id} has ended`, () => scene.hasEnded(id));
  for (const id of [one, other])
    expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0, disruptions: 0 });
  const keys = begun.map((name) => name.split(' ')[0]);
  const changes = keys.filter((key, index) => index > 0 && key !== keys[index - 1]).length;
  expect(changes, begun.join()).toBeGreaterThanOrEqual(2);
  expect(keys.indexOf('other'), begun.join()).toBeLessThan(keys.lastIndexOf('one'));
});
