import { expect, onTestFinished, test } from 'vitest';
import { jobTimeline } from '#platform/postgres/job-timeline.ts';
import { jobs, pods as podObjects } from '#platform/kubernetes/objects.ts';
import { startCollector } from '../../testing/collector.ts';
import { openBatchRig, thumbnail } from '../../testing/k8s/batch-rig.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { PodPlayer } from '../../testing/k8s/pod-player.ts';

/** A rig of batches whose pods a test may play. */
async function openPlayedRig(variables: Record<string, string> = {}) {
  const rig = await openBatchRig(variables);
  return {
    ...rig,
    /** One after another: each is asked for every few milliseconds until it has ended. */
    async endAll(ids: readonly string[]): Promise<void> {
      for (const id of ids) await rig.ended(id);
    },
    /** Plays every pod that is there or comes up, of batches and of single jobs, until the test has ended. */
    playAll(): PodPlayer {
      const player = new PodPlayer({ ...rig, workplace: rig });
      player.start();
      onTestFinished(() => player.stop());
      return player;
    },
  };
}

test('C26.6: 300 image jobs at once share a few pods, and each completes once with one webhook', async () => {
  const collector = await startCollector();
  onTestFinished(() => void collector.close());
  const rig = await openPlayedRig({ WORKER_CONCURRENCY: '4', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' });
  const played = rig.playAll();
  rig.startWorker();
  const withWebhook = await rig.submitMany(50, { callbackUrl: `${collector.origin}/hook` });
  const ids = [...withWebhook, ...(await rig.submitMany(250))];
  await rig.endAll(ids);
  for (const id of ids) expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  await until('every webhook has come', () => collector.webhooks.length >= withWebhook.length);
  expect(new Set(collector.webhooks.map((headers) => headers['webhook-id'])).size).toBe(50);
  expect(collector.webhooks).toHaveLength(50);
  expect(played.uids.size).toBeLessThan(30);
  expect((await rig.batches()).length).toBeGreaterThan(0);
});

test('C26.7: a runner of a batch that crashes costs the job that it was at one attempt, and no other job anything', async () => {
  const rig = await openPlayedRig();
  rig.startWorker();
  const ids = await rig.submitMany(12);
  const { pod, runner } = await rig.firstBatch();
  const first = await runner.task();
  await rig.work(first);
  runner.end(first);
  const second = await runner.task();
  expect(second.job_id).not.toBe(first.job_id);
  const state = { terminated: { exitCode: 139, reason: 'Error' } };
  const container = { name: 'all', image: '', imageID: '', ready: false, restartCount: 0, state };
  await rig.node.setStatus(pod, { phase: 'Failed', containerStatuses: [container] });
  await until('it is repeated', async () => (await rig.find(second.job_id)).attempt === 2);
  expect(await rig.find(first.job_id)).toMatchObject({ status: 'completed', attempt: 1 });
  rig.playAll();
  await rig.endAll(ids);
  for (const id of ids) {
    const failures = id === second.job_id ? 1 : 0;
    expect(await rig.find(id)).toMatchObject({ status: 'completed', failures, attempt: failures + 1 });
  }
  const names = (await rig.node.jobs()).map(({ metadata }) => metadata?.name);
  expect(names).toContain(`mj-${second.job_id}-2`);
});

test('C26.8: a job that is cancelled while a batch is at it stops with its pod, and the others run in another one', async () => {
  const rig = await openPlayedRig();
  rig.startWorker();
  const ids = await rig.submitMany(8);
  const { job, runner } = await rig.firstBatch();
  const { job_id: id } = await runner.task();
  await rig.cancel(id);
  const name = job.metadata?.name;
  const isThere = async () => (await rig.batches()).some(({ metadata }) => metadata?.name === name);
  await until('the pod is stopped', async () => !(await isThere()));
  rig.playAll();
  await rig.endAll(ids);
  for (const each of ids)
    expect(await rig.find(each)).toMatchObject({ status: each === id ? 'cancelled' : 'completed', attempt: 1 });
});

test('a batch continues under the next leader, which hands out a task again whose answer was lost', async () => {
  const rig = await openPlayedRig();
  const worker = rig.startWorker();
  const ids = await rig.submitMany(8);
  const { job, runner } = await rig.firstBatch();
  const first = await runner.task();
  expect((await runner.task()).job_id).toBe(first.job_id);
  await worker.stop();
  await rig.work(first);
  runner.end(first);
  expect(await runner.ask()).toBe('no leader');
  rig.startWorker();
  const next = await runner.task();
  expect(next.job_id).not.toBe(first.job_id);
  expect(await rig.find(first.job_id)).toMatchObject({ status: 'completed', attempt: 1 });
  await rig.work(next);
  // The runner is lost after its result: its pod has ended without another request.
  await rig.admin.delete(jobs, { namespace: rig.namespace, name: job.metadata?.name ?? '' });
  await until('the result counts', async () => (await rig.find(next.job_id)).status === 'completed');
  rig.playAll();
  await rig.endAll(ids);
  for (const id of ids) expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
});

test('a runner of a batch does real image jobs one after another, each in a workspace of its own', async () => {
  const rig = await openPlayedRig({ WORKER_CONCURRENCY: '1' });
  await rig.writeImage();
  await rig.writeSource('broken', Buffer.from('no image'));
  rig.startWorker();
  const broken = await rig.submit('image:thumbnail', { ...thumbnail, source: 'broken' });
  const ids = await rig.submitMany(6);
  rig.runAll();
  await rig.endAll([broken, ...ids]);
  expect((await rig.batches()).length).toBeGreaterThan(0);
  expect(await rig.find(broken)).toMatchObject({ status: 'failed', error: { code: 'unsupported_media' } });
  for (const id of ids)
    expect(await rig.find(id)).toMatchObject({ status: 'completed', results: { outputs: [{ width: 64 }] } });
  const attempts = (await Promise.all(ids.map((id) => jobTimeline(rig.database, id)))).flatMap(
    (of) => of?.attempts ?? [],
  );
  const stepsOf = ({ units }: (typeof attempts)[number]) => units.flatMap(({ steps }) => steps.map(({ step }) => step));
  for (const attempt of attempts) expect(stepsOf(attempt)).toEqual(['fetch', 'process', 'publish']);
  const [, ...times] = (await jobTimeline(rig.database, broken))?.attempts[0]?.units[0]?.steps ?? [];
  expect(times).toMatchObject([{ step: 'process', code: 'unsupported_media' }]);
  const haveEnded = async () => {
    const { items } = await rig.admin.list(podObjects, { namespace: rig.namespace });
    return items.every(({ status }) => ['Succeeded', 'Failed'].includes(status?.phase ?? ''));
  };
  await until('the runners have ended for want of work', haveEnded);
});
