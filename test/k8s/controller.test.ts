import sharp from 'sharp';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { conditionOf, openControllerRig } from './support/controller.ts';
import { installCrds } from './support/crds.ts';
import { until } from './support/cluster.ts';

beforeAll(installCrds);

const image = () =>
  sharp({ create: { width: 64, height: 48, channels: 3, background: '#369' } })
    .jpeg()
    .toBuffer();

/** The node runs whatever comes, until the test is over. */
function running(rig: Awaited<ReturnType<typeof openControllerRig>>) {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  rig.node.runAll(over.signal);
}

test('a submitted job becomes a MediaJob, a Job and a pod, and its end stands in Postgres and in the status', async () => {
  const rig = await openControllerRig();
  await rig.writeSource('source', await image());
  rig.startWorker();
  running(rig);
  const id = await rig.submit('image:thumbnail');
  await until('the job is over', async () => isFinal((await rig.find(id)).status), 30_000);
  expect(await rig.find(id)).toMatchObject({ status: 'completed', progress: 100, attempt: 1, failures: 0 });
  await until('the MediaJob says so', async () => conditionOf(await rig.mediaJob(id), 'Complete') === 'True/Completed');
  const mediaJob = await rig.mediaJob(id);
  expect(mediaJob.status).toMatchObject({ phase: 'completed', progress: 100, jobId: id, pool: 'default', attempt: 1 });
  expect(mediaJob.status?.results).toEqual((await rig.find(id)).results);
});
