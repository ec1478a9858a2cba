import { beforeAll, expect, test } from 'vitest';
import { mediaProfiles, runnerPools } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { server, until } from '../../testing/k8s/cluster.ts';
import { openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';

// MediaProfiles and RunnerPools that people made, in a cluster whose etcd was lost: Postgres has a copy.

beforeAll(installCrds);

const gpu = { concurrency: 3, nodeSelector: { 'media.example/gpu': 'true' }, scratch: { sizeLimit: '20Gi' } };
const profile = { crf: 30, audio: { loudness: -16 }, rules: [{ source_prefix: 'lectures/', priority: 3 }] };

/** A cluster with a pool and a profile by hand and a scaled pool, which Postgres has a copy of; without a leader. */
async function openCluster() {
  const rig = await openControllerRig({ RUNNER_POOLS: JSON.stringify({ default: { concurrency: 2 } }) });
  const { admin, namespace } = rig;
  const digestOf = async () =>
    (await admin.get(mediaProfiles, { namespace, name: 'lectures' }).catch(() => null))?.status?.digest;
  const specOf = async (name: string) =>
    (await admin.get(runnerPools, { namespace, name }).catch(() => null))?.spec ?? null;
  const worker = rig.startWorker();
  await admin.apply(mediaProfiles, { metadata: { name: 'lectures', namespace }, spec: profile });
  await kubectlApply('gpu', namespace, gpu);
  await until('the pool default is there', async () => (await specOf('default'))?.concurrency === 2);
  await kubectl(server, ['scale', '-n', namespace, 'rp/default', '--replicas=7']);
  await until('both pools are copied', async () => (await rig.poolCopy.read()).length === 2, 30_000);
  await until('the profile is copied', async () => (await rig.profiles.read()).length === 1);
  const digest = await digestOf();
  await worker.stop();
  return { ...rig, digest, digestOf, specOf };
}

async function kubectlApply(name: string, namespace: string, spec: object): Promise<void> {
  const pool = { apiVersion: 'reelwright.dev/v1alpha1', kind: 'RunnerPool', metadata: { name, namespace }, spec };
  await kubectl(server, ['apply', '-f', '-'], JSON.stringify(pool));
}

test('C26.13: a rebuilt cluster gets its MediaProfiles and its made and scaled RunnerPools back from Postgres', async () => {
  const { namespace, profiles, poolCopy, digest, digestOf, specOf, startWorker, admin } = await openCluster();
  await kubectl(server, ['delete', '-n', namespace, 'mprof,rp', '--all', '--wait']);
  expect([await specOf('gpu'), await specOf('default')]).toEqual([null, null]);
  const before = [await profiles.read(), await poolCopy.read()];
  startWorker();
  await until('the pool of the settings is there', async () => (await specOf('video-large')) !== null, 30_000);
  expect(await specOf('gpu')).toEqual(gpu);
  expect(await specOf('default')).toEqual({ concurrency: 7 });
  await until('the profile is in use', async () => (await digestOf()) === digest);
  expect(digest).toBeDefined();
  expect([await profiles.read(), await poolCopy.read()]).toEqual(before);
  await admin.apply(mediaProfiles, { metadata: { name: 'new', namespace }, spec: {} });
  await until('another profile is added to it', async () => (await profiles.read()).length === 2);
});

test('what was deleted while no controller led stays deleted, and the copy forgets it', async () => {
  const { namespace, profiles, poolCopy, specOf, startWorker } = await openCluster();
  await kubectl(server, ['delete', '-n', namespace, 'mprof/lectures', 'rp/gpu', '--wait']);
  startWorker();
  await until('the pool is forgotten', async () => (await poolCopy.read()).length === 1, 30_000);
  await until('the profile is forgotten', async () => (await profiles.read()).length === 0);
  expect([await specOf('gpu'), await specOf('default')]).toEqual([null, { concurrency: 7 }]);
});

test('a namespace that is being deleted takes nothing out of the copy', async () => {
  const { namespace, profiles, poolCopy, specOf, startWorker, digest, digestOf } = await openCluster();
  startWorker();
  await kubectl(server, ['delete', '--wait=false', `namespace/${namespace}`]);
  await kubectl(server, ['delete', '-n', namespace, 'mprof,rp', '--all', '--wait']);
  // Without a controller of namespaces it stays in deletion; a round of the copy passes meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 11_000));
  expect([(await profiles.read()).length, (await poolCopy.read()).length]).toEqual([1, 2]);
  expect(await specOf('gpu')).toBeNull();
  expect([digest === undefined, await digestOf()]).toEqual([false, undefined]);
});
