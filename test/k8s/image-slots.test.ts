import { expect, test } from 'vitest';
import { isOfBatch, openBatchRig } from '../../testing/k8s/batch-rig.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';

// Slots that a pool reserves for image jobs. No pod runs, so nothing ends by itself.

/** Videos that take all other slots, with more of them waiting before whatever is submitted next. */
async function fillWithVideos(rig: ControllerRig): Promise<void> {
  for (let index = 0; index < 8; index += 1) await rig.submit('video:cover');
  rig.startWorker();
  await until('the videos have their slots', async () => (await rig.node.jobs()).length === 3, 30_000);
}

const namesOf = async ({ node }: ControllerRig) => (await node.jobs()).map(({ metadata }) => metadata?.name);

test('C26.14: an image job begins within seconds behind eight videos, of which three run in a pool of four', async () => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '4' });
  await fillWithVideos(rig);
  const ids = [await rig.submit('image:thumbnail'), await rig.submit('image:thumbnail')];
  const ofImages = async () => (await namesOf(rig)).filter((name) => ids.some((id) => name === `mj-${id}-1`));
  await until('the first image has begun', async () => (await ofImages()).length === 1, 5_000);
  expect(await ofImages()).toEqual([`mj-${ids[0] ?? ''}-1`]);
  expect(await namesOf(rig)).toHaveLength(4);
  await rig.cancel(ids[0] ?? '');
  await until('the next image follows', async () => (await ofImages()).includes(`mj-${ids[1] ?? ''}-1`), 15_000);
});

test('C26.14: many image jobs behind videos get a batch within seconds', async () => {
  const rig = await openBatchRig({ WORKER_CONCURRENCY: '4' });
  await fillWithVideos(rig);
  await rig.submitMany(20);
  await until('a batch has begun', async () => (await rig.node.jobs()).some(isOfBatch), 5_000);
  expect(await namesOf(rig)).toHaveLength(4);
});
