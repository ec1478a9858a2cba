import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { mediaJobs } from '#platform/kubernetes/objects.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { conditionOf, openControllerRig } from '../../testing/k8s/controller.ts';
import { scriptedRunner } from '../../testing/k8s/node.ts';

// What a stranger may create where no admission policy reserves the controller's names.

test.each([
  ['and with the label', true],
  ['but without the label', false],
])('a MediaJob of a stranger under the name %s of a job is refused and holds up no job', async (_, hasLabel) => {
  const rig = await openControllerRig();
  rig.startWorker();
  const id = randomUUID();
  const name = `mj-${id}`;
  const labels: Record<string, string> = hasLabel ? { 'reelwright.dev/job-id': id } : {};
  const spec = { type: 'video:cover' as const, hash: 'h', source: 's', suspend: true, pool: 'another' };
  const foreign = await rig.admin.create(mediaJobs, { metadata: { namespace: rig.namespace, name, labels }, spec });
  await until('it is refused', async () => conditionOf(await rig.mediaJob(id), 'Failed') === 'True/Refused');
  expect((await rig.mediaJob(id)).status?.error?.message).toContain('reserved for the controller');
  await rig.submit('video:cover', { id, source: `${rig.notes}/ok` });
  await until('the job has a Job', async () => (await rig.node.jobs()).length === 1);
  const [job] = await rig.node.jobs();
  expect(job?.metadata?.name).toBe(`${name}-1`);
  const own = await rig.mediaJob(id);
  expect([own.metadata?.uid === foreign.metadata?.uid, own.spec.pool]).toEqual([false, 'default']);
  if (job !== undefined) await rig.node.run(job, scriptedRunner);
  await rig.ended(id);
  expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
});
