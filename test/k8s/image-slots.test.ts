import { expect, test } from 'vitest';
import { isOfBatch, openBatchRig } from '../../testing/k8s/batch-rig.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig } from '../../testing/k8s/controller.ts';

// Slots that a pool reserves for image jobs. No pod runs, so nothing ends by itself.

/** Videos that take all other slots, with more of them waiting before whatever is submitted next. */
async function fillWithVideos(rig: ControllerRig): Promise<void> {
  for (let index = 0; index < 8; index += 1) await rig.submit('video:cover');
  rig.startWorker();
  await until('the videos have their slots', async () => (await rig.node.jobs()).length === 3);
}

const namesOf = async ({ node }: ControllerRig) => (await node.jobs()).map(({ metadata }) => metadata?.name);

test('C26.14: many image jobs behind videos get a batch within seconds', async () => {
  const rig = await openBatchRig({ WORKER_CONCURRENCY: '4' });
  await fillWithVideos(rig);
  await rig.submitMany(20);
  await until('a batch has begun', async () => (await rig.node.jobs()).some(isOfBatch), 5_000);
  expect(await namesOf(rig)).toHaveLength(4);
});
