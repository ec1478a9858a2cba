import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { masterKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { events, mediaRollouts } from '#platform/kubernetes/objects.ts';
import { clientFor, newNamespace, until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { newJobOf } from '../../testing/new-job.ts';

test('C32.17: a MediaRollout that is out of bounds is refused with every field named', async () => {
  const client = clientFor();
  const spec = { budget: { jobs: 0 }, canary: { share: 2 }, which: { hash_prefix: '/' } };
  const wrong = client.create(mediaRollouts, { metadata: { name: 'x', namespace: await newNamespace(client) }, spec });
  const error = await wrong.catch((thrown: unknown) => thrown);
  if (!(error instanceof KubeError)) throw new TypeError('it is refused');
  expect(error.causes.map(({ field }) => field)).toEqual(
    expect.arrayContaining(['spec.to_profile', 'spec.budget.jobs', 'spec.canary.share', 'spec.which.hash_prefix']),
  );
});

/** A media with a stream. */
async function makeMedia({ jobs, source }: ControllerRig, hash: string): Promise<void> {
  await source.put('a.mp4', Buffer.alloc(10), { contentType: 'video/mp4' });
  const newJob = newJobOf({ type: 'video:transcode', hash, source: 'a.mp4', options: { encrypt: false } });
  const jobId = (await jobs.insertOrFind(newJob)).job.id;
  await jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 60_000 });
  const init = videoKey(hash, revisionOf(jobId, 1), 'video/r64_h264/init.mp4');
  const streaming = { master_playlist: masterKey(hash) };
  const results = { streaming, video_tracks: [{ id: 'r64_h264', init }] } as never;
  await jobs.finish({ jobId, attempt: 1, status: 'completed', results, error: null, eventId: randomUUID() });
}

async function openScene() {
  const rig = await openControllerRig();
  const { admin, namespace } = rig;
  await makeMedia(rig, 'movie-1');
  rig.startWorker();
  const shown = async (name: string) => (await admin.get(mediaRollouts, { namespace, name })).status;
  return {
    rig,
    shown,
    apply: (name: string, spec: object) =>
      admin.apply(mediaRollouts, { metadata: { name, namespace }, spec: { ...spec } }),
    remove: (name: string) => admin.delete(mediaRollouts, { namespace, name }),
    condition: async (name: string, type: string) => {
      const found = (await shown(name))?.conditions?.find((one) => one.type === type);
      return found && `${found.status}/${found.reason}`;
    },
  };
}

describe('a MediaRollout', () => {
  test('C32.16, C32.18: it makes a rollout of its uid, pauses and resumes it, shows its counts, and cancels it when deleted', async () => {
    const { rig, apply, shown, remove, condition } = await openScene();
    const which = { hash_prefix: 'movie-' };
    const { metadata } = await apply('mobile', { which, to_profile: 'mobile', paused: true });
    const id = metadata?.uid ?? '';
    await until('it is planned', async () => (await shown('mobile'))?.planned === 1);
    expect(await rig.rollouts.find(id)).toMatchObject({ isPaused: true, spec: { which, to_profile: 'mobile' } });
    const types = ['Accepted', 'Succeeded', 'Failed'];
    expect(await Promise.all(types.map((type) => condition('mobile', type)))).toEqual([
      'True/Accepted',
      'False/Running',
      'False/Running',
    ]);
    await apply('mobile', { which, to_profile: 'mobile', paused: false });
    await until('it runs', async () => (await shown('mobile'))?.running === 1);
    await remove('mobile');
    await until('it is cancelled', async () => (await rig.rollouts.find(id))?.status === 'cancelled');
    expect((await rig.rollouts.find(id))?.reason).toBe('Its MediaRollout was deleted.');
  });

  test('C32.16, C32.17: it is rolled back; an unknown profile and a changed spec begin nothing and are shown', async () => {
    const { rig, apply, shown, condition } = await openScene();
    const unknown = await apply('unknown', { to_profile: 'nothing' });
    await until('it is refused', async () => (await condition('unknown', 'Accepted')) === 'False/Invalid');
    expect((await shown('unknown'))?.conditions?.[0]?.message).toMatch(
      /^spec\.to_profile: names no profile; there are /,
    );
    expect(await rig.rollouts.find(unknown.metadata?.uid ?? '')).toBeNull();
    const spec = { to_profile: 'mobile', paused: true };
    const { metadata } = await apply('one', spec);
    await until('it is planned', async () => (await shown('one'))?.planned === 1);
    await apply('one', { ...spec, to_profile: 'archive-4k' });
    await until('it says so', async () => (await condition('one', 'Accepted')) === 'False/SpecChanged');
    expect((await rig.rollouts.find(metadata?.uid ?? ''))?.spec.to_profile).toBe('mobile');
    await apply('one', { ...spec, rollback: true });
    await until('it has failed', async () => (await condition('one', 'Failed')) === 'True/RolledBack');
    await until('it has ended', async () => (await shown('one'))?.phase === 'rolled_back');
    expect(await condition('one', 'Succeeded')).toBe('False/RolledBack');
    const { items } = await rig.admin.list(events, { namespace: rig.namespace });
    const ends = items.filter(({ regarding }) => regarding?.kind === 'MediaRollout');
    expect(ends.map(({ regarding, type, reason }) => [regarding?.name, type, reason])).toEqual(
      expect.arrayContaining([
        ['unknown', 'Warning', 'Invalid'],
        ['one', 'Warning', 'RolledBack'],
      ]),
    );
  });
});
