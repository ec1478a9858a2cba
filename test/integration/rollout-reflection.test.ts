import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { MediaRollout } from '#platform/kubernetes/objects.ts';
import { reflectRollouts } from '../../controller/kubernetes/rollouts/reflect-rollouts.ts';
import { openRolloutRig, type RolloutRig } from '../../testing/rollout-rig.ts';

// What is written for MediaRollouts, and what is not; with a real API server: test/k8s/mediarollout.test.ts.

const objectOf = (spec: object): MediaRollout => ({
  metadata: { name: 'mobile', namespace: 'media', uid: randomUUID(), generation: 1 },
  spec: { to_profile: 'small', ...spec },
});

describe.skipIf(!inject('postgres'))('the reflection of MediaRollouts', () => {
  let rig: RolloutRig;
  beforeAll(async () => {
    rig = await openRolloutRig();
  });
  afterEach(() => rig.query(`update rollouts set status = 'cancelled', finished_at = now() where finished_at is null`));
  afterAll(() => rig.close());

  const now = Date.parse('2026-01-01T00:00:00Z');
  /** Reflects these objects once; the patches that were sent, which are applied to the objects. */
  async function reflect(...objects: MediaRollout[]) {
    return reflectIn({ isWhole: true }, ...objects);
  }

  /** The same where the cluster has no pool, as one that is rebuilt, or where the patch of an object is refused. */
  async function reflectIn(
    { isWhole, refused, sinceMs = now }: { isWhole: boolean; refused?: MediaRollout; sinceMs?: number },
    ...objects: MediaRollout[]
  ) {
    const patches: { readonly metadata: { readonly uid: string }; readonly status: MediaRollout['status'] }[] = [];
    const client = {
      get: () => Promise.resolve({ metadata: { creationTimestamp: new Date(sinceMs).toISOString() } }),
      mergePatch: (_: unknown, { name }: { name: string }, patch: (typeof patches)[number]) => {
        if (patch.metadata.uid === refused?.metadata?.uid) return Promise.reject(new Error('refused'));
        patches.push(patch);
        const found = objects.find(({ metadata }) => metadata?.name === name);
        Object.assign(found ?? {}, { status: { ...found?.status, ...patch.status } });
        return Promise.resolve(found);
      },
    };
    const rollouts = new Map(objects.map((object) => [object.metadata?.uid, object]));
    const caches = { rollouts, pools: { get: () => (isWhole ? {} : undefined) } };
    const ofCluster = { client, caches, pools: { default: {} }, runnerNamespace: 'runners' };
    const requeue = await reflectRollouts({ ...rig.d, ...ofCluster, now: () => now } as never);
    return { patches, requeue };
  }

  it('C32.18: a rollout that the API began is not cancelled where it has no MediaRollout', async () => {
    const ofApi = await rig.create({});
    const object = objectOf({});
    const id = object.metadata?.uid ?? '';
    await reflect(object);
    expect([(await rig.find(ofApi)).status, (await rig.find(id)).status]).toEqual(['running', 'running']);
    await reflect();
    expect([(await rig.find(ofApi)).status, (await rig.find(id)).status]).toEqual(['running', 'cancelling']);
    // One that has ended is looked at no more.
    const active = async () => (await rig.d.rollouts.ofResources()).map((rollout) => rollout.id);
    expect(await active()).toContain(id);
    await rig.d.rollouts.move(id, 'cancelled');
    expect(await active()).not.toContain(id);
  });

  it('C32.18: while a cluster that was rebuilt has no pool of the settings, no rollout is cancelled', async () => {
    const object = objectOf({});
    const id = object.metadata?.uid ?? '';
    await reflect(object);
    await reflectIn({ isWhole: false });
    expect((await rig.find(id)).status).toBe('running');
    await reflect();
    expect((await rig.find(id)).status).toBe('cancelling');
  });

  it('C32.18: in a namespace that was made again with its pools, the rollout of a lost object goes on', async () => {
    const object = objectOf({});
    const id = object.metadata?.uid ?? '';
    await reflect(object);
    await reflectIn({ isWhole: true, sinceMs: Date.now() + 60_000 });
    expect((await rig.find(id)).status).toBe('running');
  });

  it('C32.16: a status that cannot be written keeps no other from being written, and is tried again', async () => {
    const [first, second] = [objectOf({ paused: true }), objectOf({ paused: true })];
    Object.assign(second.metadata ?? {}, { name: 'other' });
    await expect(reflectIn({ isWhole: true, refused: first }, first, second)).rejects.toThrow('refused');
    expect(second.status?.observedGeneration).toBe(1);
  });

  it('C32.16: a status is written for the uid of its object alone, and only when it has changed', async () => {
    const object = objectOf({ paused: true });
    const { patches, requeue } = await reflect(object);
    expect(patches).toMatchObject([{ metadata: { uid: object.metadata?.uid }, status: { observedGeneration: 1 } }]);
    expect(requeue).toEqual({ afterMs: 3_000 });
    expect((await reflect(object)).patches).toEqual([]);
    await rig.round(object.metadata?.uid ?? '');
    const ended = await reflect(object);
    expect(ended.patches[0]?.status?.conditions).toMatchObject([
      { type: 'Accepted', status: 'True' },
      { type: 'Succeeded', status: 'True', reason: 'Completed' },
      { type: 'Failed', status: 'False' },
    ]);
    expect([ended.requeue, (await reflect(object)).patches]).toEqual([{ afterMs: 60_000 }, []]);
  });

  it('C32.16: `paused` of a MediaRollout pauses and resumes, and what has ended is not begun again', async () => {
    const object = objectOf({ paused: true });
    const id = object.metadata?.uid ?? '';
    const isPaused = async (paused: boolean) => {
      Object.assign(object, { spec: { ...object.spec, paused } });
      await reflect(object);
      return (await rig.find(id)).isPaused;
    };
    expect([await isPaused(true), await isPaused(false), await isPaused(true)]).toEqual([true, false, true]);
    Object.assign(object, { spec: { ...object.spec, rollback: true } });
    await reflect(object);
    expect(await rig.find(id)).toMatchObject({ status: 'rolling_back', isPaused: false });
    await rig.round(id);
    await reflect(object);
    expect((await rig.find(id)).status).toBe('rolled_back');
  });
});
