import { expect, onTestFinished, test, vi } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { mediaJobs, runnerPools } from '#platform/kubernetes/objects.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { server, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { leaveThumbnail } from '../../testing/k8s/workers.ts';

const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };
const jobIdOf = (name = '') => name.slice('mj-'.length, -'-1'.length);

/** The media store of a rig, whose result manifests of some jobs are read only once `release` is called. */
function holdingManifests(media: ObjectStore, isHeld: (key: string) => boolean) {
  const held = Promise.withResolvers<undefined>();
  const store: ObjectStore = {
    head: (key, signal) => media.head(key, signal),
    get: async (key, options) => {
      if (isHeld(key)) await held.promise;
      return media.get(key, options);
    },
    readStart: (...args) => media.readStart(...args),
    download: (key, options) => media.download(key, options),
    put: (key, body, options) => media.put(key, body, options),
    putNew: (key, body, options) => media.putNew(key, body, options),
    list: (prefix) => media.list(prefix),
    delete: (keys) => media.delete(keys),
    ping: (signal) => media.ping(signal),
    missingRights: (...rights) => media.missingRights(...rights),
    close: () => media.close(),
  };
  return { store, release: () => held.resolve(undefined) };
}

/** Ends the pods of all Jobs that have none yet as succeeded. */
async function succeedAll(rig: ControllerRig, done: Set<string>): Promise<void> {
  for (const job of await rig.node.jobs()) {
    const name = job.metadata?.name ?? '';
    if (done.has(name)) continue;
    done.add(name);
    await rig.node.setStatus(await rig.node.podOf(job), { phase: 'Succeeded' });
  }
}

test('many streams that are completed at once do not delay the end of a thumbnail', async () => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '40' });
  const videos = new Set<string>();
  const { store, release } = holdingManifests(rig.media, (key) => [...videos].some((id) => key.includes(id)));
  onTestFinished(release);
  rig.startWorker({ media: store });
  for (let n = 0; n < 20; n += 1) videos.add(await rig.submit('video:transcode'));
  await until('the videos have Jobs', async () => (await rig.node.jobs()).length === 20);
  const done = new Set<string>();
  await succeedAll(rig, done);
  const id = await rig.submit('image:thumbnail', thumbnail);
  await leaveThumbnail(rig.media, { jobId: id, hash: (await rig.find(id)).hash, attempt: 1 });
  const isThere = async () => (await rig.node.jobs()).some(({ metadata }) => jobIdOf(metadata?.name) === id);
  await until('the thumbnail has a Job', isThere);
  await succeedAll(rig, done);
  await until('the thumbnail is final', async () => isFinal((await rig.find(id)).status));
  expect(await rig.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
  for (const video of videos) expect((await rig.find(video)).status).toBe('processing');
});

test('every MediaJob that follows an equal active job shows its end', async () => {
  const rig = await openControllerRig();
  rig.startWorker();
  const id = await rig.submit('image:thumbnail', { ...thumbnail, hash: 'followed' });
  await until('it has a Job', async () => (await rig.node.jobs()).length === 1);
  const names = ['first', 'second', 'third'];
  const spec = { type: 'image:thumbnail' as const, hash: 'followed', source: 'source', ...thumbnail };
  for (const name of names) {
    await rig.admin.create(mediaJobs, { metadata: { namespace: rig.namespace, name }, spec });
  }
  const shown = async () => Promise.all(names.map((name) => rig.mediaJobNamed(name)));
  await until('they follow it', async () => (await shown()).every(({ status }) => status?.jobId === id));
  await leaveThumbnail(rig.media, { jobId: id, hash: 'followed', attempt: 1 });
  await succeedAll(rig, new Set());
  const areComplete = async () => (await shown()).every((one) => conditionOf(one, 'Complete') === 'True/Completed');
  await until('they are complete', areComplete);
  expect(await rig.node.jobs()).toHaveLength(1);
});

test('a MediaJob that follows a job neither takes its place nor stops it when it is deleted', async () => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '1', QUEUED_MEDIA_JOBS: '0' });
  rig.startWorker();
  const first = await rig.submit('image:thumbnail', thumbnail);
  await until('the first has a Job', async () => (await rig.node.jobs()).length === 1);
  const id = await rig.submit('image:thumbnail', { ...thumbnail, hash: 'followed' });
  const spec = { type: 'image:thumbnail' as const, hash: 'followed', source: 'source', suspend: true, ...thumbnail };
  const metadata = { namespace: rig.namespace, name: 'follower' };
  await rig.admin.create(mediaJobs, { metadata, spec });
  const follows = async () => (await rig.mediaJobNamed('follower')).status?.jobId === id;
  await until('it is followed', follows);
  await rig.cancel(first);
  const isRunning = async () => (await rig.node.jobs()).some((each) => jobIdOf(each.metadata?.name) === id);
  await until('the followed job has a Job', isRunning);
  const third = await rig.submit('image:thumbnail', thumbnail);
  await rig.admin.delete(mediaJobs, metadata);
  const { calls } = vi.spyOn(rig.jobs, 'claimedBy').mock;
  await until('the claimed jobs were compared three times', () => calls.length > 3);
  expect(await rig.find(id)).toMatchObject({ status: 'processing', attempt: 1 });
  expect((await rig.find(third)).status).toBe('queued');
});

test('waiting jobs of the API are shown as queued, start first by a priority and are cancelled by deletion', async () => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '1', QUEUED_MEDIA_JOBS: '2' });
  rig.startWorker();
  const first = await rig.submit('image:thumbnail', thumbnail);
  await until('the first has a Job', async () => (await rig.node.jobs()).length === 1);
  const [early, late, hidden] = [1, 2, 3].map(() => rig.submit('image:thumbnail', thumbnail));
  const [earlyId = '', lateId = '', hiddenId = ''] = await Promise.all([early, late, hidden]);
  const all = [earlyId, lateId, hiddenId];
  const shown = async () => {
    const { items } = await rig.admin.list(mediaJobs, { namespace: rig.namespace });
    const queued = items.filter((one) => conditionOf(one, 'Progressing') === 'False/Queued');
    return all.filter((id) => queued.some(({ metadata }) => metadata?.name === `mj-${id}`));
  };
  await until('two are shown', async () => (await shown()).length === 2);
  const [cancelled = '', preferred = ''] = await shown();
  const patch = { spec: { priority: 10 } };
  await rig.admin.mergePatch(mediaJobs, { namespace: rig.namespace, name: `mj-${preferred}` }, patch);
  await rig.admin.delete(mediaJobs, { namespace: rig.namespace, name: `mj-${cancelled}` });
  await until('it is cancelled', async () => (await rig.find(cancelled)).status === 'cancelled');
  await leaveThumbnail(rig.media, { jobId: first, hash: (await rig.find(first)).hash, attempt: 1 });
  await succeedAll(rig, new Set());
  await until('the second has started', async () => (await rig.node.jobs()).length === 2);
  const names = (await rig.node.jobs()).map(({ metadata }) => jobIdOf(metadata?.name));
  expect(names.toSorted()).toEqual([first, preferred].toSorted());
});

test('the settings size a pool until another client sets its concurrency', async () => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '3' });
  const ref = { namespace: rig.namespace, name: 'default' };
  const isSized = (concurrency: number, nodeSelector?: object) => async () => {
    const spec = (await rig.admin.get(runnerPools, ref).catch(() => null))?.spec;
    return spec?.concurrency === concurrency && JSON.stringify(spec.nodeSelector) === JSON.stringify(nodeSelector);
  };
  const withSettings = (workerConcurrency: number, pool: { nodeSelector?: Record<string, string> }) => ({
    config: { ...rig.config, workerConcurrency, kubernetes: { ...rig.kubernetes, runnerPools: { default: pool } } },
  });
  const first = rig.startWorker();
  await until('the pool is created', isSized(3));
  await first.stop();
  const second = rig.startWorker(withSettings(5, { nodeSelector: { disk: 'ssd' } }));
  await until('the pool follows the settings', isSized(5, { disk: 'ssd' }));
  await kubectl(server, ['scale', '-n', rig.namespace, 'rp/default', '--replicas=8']);
  await second.stop();
  rig.startWorker(withSettings(6, {}));
  await until('all but the concurrency follows the settings', isSized(8));
});
