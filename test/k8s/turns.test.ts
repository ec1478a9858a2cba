import { expect, onTestFinished, test } from 'vitest';
import { openBatchRig } from '../../testing/k8s/batch-rig.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { PodPlayer } from '../../testing/k8s/pod-player.ts';

/** A rig whose pods are played, with 120 images of a key and, once a batch has begun with these, 10 of another. */
async function openFlood(variables: Record<string, string> = {}) {
  const rig = await openBatchRig(variables);
  const player = new PodPlayer({ ...rig, workplace: rig });
  onTestFinished(() => player.stop());
  player.start();
  rig.startWorker();
  const flood = await rig.submitMany(120, { keyId: 'flood' });
  const begun = async () =>
    (await rig.database.pool.query(`select from jobs where key_id = 'flood' and started_at is not null`)).rowCount ?? 0;
  await until('the flood is under way', async () => (await begun()) > 5);
  return { rig, flood };
}

test('C36.2, C36.5: batches take the images of a key that comes beside a backlog in turns', async () => {
  const { rig, flood } = await openFlood();
  const few = await rig.submitMany(10, { keyId: 'few' });
  for (const id of [...flood, ...few]) await rig.ended(id);
  const { rows } = await rig.database.pool.query<{ key: string }>('select key_id as key from jobs order by started_at');
  const keys = rows.map(({ key }) => key);
  expect(keys).toHaveLength(130);
  const between = keys.slice(keys.indexOf('few'), keys.lastIndexOf('few') + 1);
  expect(between.filter((key) => key === 'flood').length, keys.join()).toBeLessThan(40);
  for (const id of few) expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
});

test('C36.2: a batch gives its slot up when it is the turn of a key without images', async () => {
  const { rig, flood } = await openFlood({ WORKER_CONCURRENCY: '1' });
  const cover = await rig.submit('video:cover', { keyId: 'few', options: {} });
  await until('it has begun', async () => (await rig.find(cover)).startedAt !== null);
  const left = await rig.jobs.statesOf(flood);
  expect(left.filter(({ status }) => status === 'queued').length, 'images that wait still').toBeGreaterThan(0);
});
