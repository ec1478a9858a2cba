import { expect } from 'vitest';
import { mediaProfiles, runnerPools } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { adminCredentials, clientFor, newNamespace, server, until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, rigTest as test } from '../../testing/k8s/controller.ts';
import { configMaps } from '../../testing/k8s/kinds.ts';

// MediaProfiles and RunnerPools that people made, in a cluster whose etcd was lost: Postgres has a copy.

const gpu = { concurrency: 3, nodeSelector: { 'media.example/gpu': 'true' }, scratch: { sizeLimit: '20Gi' } };
const profile = { crf: 30, audio: { loudness: -16 }, rules: [{ source_prefix: 'lectures/', priority: 3 }] };

/** Longer than the time between two looks of the copy. */
const roundMs = 11_000;

/** A cluster with a pool and a profile by hand and a scaled pool, which Postgres has a copy of; without a leader. */
async function openCluster(openRig: (variables: Record<string, string>) => Promise<ControllerRig>, more = {}) {
  const rig = await openRig({ RUNNER_POOLS: JSON.stringify({ default: { concurrency: 2 } }), ...more });
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
  await until('both pools are copied', async () => (await rig.poolCopy.read()).pools.length === 2);
  await until('the profile is copied', async () => (await rig.profiles.read()).length === 1);
  const digest = await digestOf();
  await worker.stop();
  return { ...rig, digest, digestOf, specOf };
}

async function kubectlApply(name: string, namespace: string, spec: object): Promise<void> {
  const pool = { apiVersion: 'reelwright.dev/v1alpha1', kind: 'RunnerPool', metadata: { name, namespace }, spec };
  await kubectl(server, ['apply', '-f', '-'], JSON.stringify(pool));
}

test.concurrent(
  'C26.13: a rebuilt cluster gets its MediaProfiles and its made and scaled RunnerPools back from Postgres',
  async ({ openRig }) => {
    const { namespace, profiles, poolCopy, digest, digestOf, specOf, startWorker, admin } = await openCluster(openRig);
    await kubectl(server, ['delete', '-n', namespace, 'mprof,rp', '--all', '--wait']);
    expect([await specOf('gpu'), await specOf('default')]).toEqual([null, null]);
    const before = [await profiles.read(), await poolCopy.read()];
    startWorker();
    await until('the pool of the settings is there', async () => (await specOf('video-large')) !== null);
    expect(await specOf('gpu')).toEqual(gpu);
    expect(await specOf('default')).toEqual({ concurrency: 7 });
    await until('the profile is in use', async () => (await digestOf()) === digest);
    expect(digest).toBeDefined();
    expect([await profiles.read(), await poolCopy.read()]).toEqual(before);
    await admin.apply(mediaProfiles, { metadata: { name: 'new', namespace }, spec: {} });
    await until('another profile is added to it', async () => (await profiles.read()).length === 2);
  },
);

test.concurrent(
  'what was deleted while no controller led stays deleted, and the copy forgets it',
  async ({ openRig }) => {
    const { namespace, profiles, poolCopy, specOf, startWorker } = await openCluster(openRig);
    await kubectl(server, ['delete', '-n', namespace, 'mprof/lectures', 'rp/gpu', '--wait']);
    startWorker();
    await until('the pool is forgotten', async () => (await poolCopy.read()).pools.length === 1);
    await until('the profile is forgotten', async () => (await profiles.read()).length === 0);
    expect([await specOf('gpu'), await specOf('default')]).toEqual([null, { concurrency: 7 }]);
  },
);

test.concurrent(
  'a namespace that is being deleted takes nothing out of the copy',
  async ({ openRig, onTestFinished }) => {
    // The lease is in the namespace of the worker, which leads on.
    const more = { POD_NAMESPACE: await newNamespace(clientFor(adminCredentials(), { cleanup: onTestFinished })) };
    const { namespace, profiles, poolCopy, specOf, startWorker, digest, digestOf, admin } = await openCluster(
      openRig,
      more,
    );
    startWorker();
    const held = { namespace, name: 'held' };
    await admin.create(configMaps, { metadata: { ...held, finalizers: ['example.com/held'] } });
    onTestFinished(async () => void (await admin.mergePatch(configMaps, held, { metadata: { finalizers: null } })));
    await kubectl(server, ['delete', '--wait=false', `namespace/${namespace}`]);
    await until('its objects are deleted', async () => (await specOf('gpu')) === null && !(await digestOf()));
    const deletedAt = Date.now();
    await until('a round of the copy has passed', () => Date.now() - deletedAt > roundMs);
    expect([(await profiles.read()).length, (await poolCopy.read()).pools.length]).toEqual([1, 2]);
    expect(digest).toBeDefined();
  },
);
