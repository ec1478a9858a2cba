import { describe, expect, test } from 'vitest';
import type { MediaJobSpec } from '#domain/kubernetes/media-job.ts';
import type { MediaProfileSpec } from '#domain/kubernetes/media-profile.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { events, mediaJobs, mediaProfiles } from '#platform/kubernetes/objects.ts';
import { clientFor, newNamespace, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { scriptedRunner } from '../../testing/k8s/node.ts';

const rung = (shortSide: number, bitrate: number) => ({ short_side: shortSide, bitrate });

const createAlone = async (spec: MediaProfileSpec) => {
  const client = clientFor();
  return client.create(mediaProfiles, { metadata: { name: 'x', namespace: await newNamespace(client) }, spec });
};

describe('the definition of a MediaProfile', () => {
  test('the definition of a MediaProfile takes every field of a profile, and fills in none but the priority of a rule', async () => {
    const spec = {
      ladder: [rung(360, 400_000), { ...rung(720, 1_500_000), codec: 'hevc' }],
      first_bitrate: 400_000,
      crf: 25.5,
      preset: 'slow',
      hevc: { crf: 28 },
      av1: { preset: 6 },
      hdr: 'keep',
      quality: { vmaf: 93, report: true },
      frame_rate_max: 30,
      storyboard: 'always',
      captions: 'clear',
      audio: { bitrate: 64_000, loudness: -16, surround: true },
      rules: [{ source_prefix: 'lectures/', source_bytes_min: 0, source_bytes_max: 5 }],
    };
    const made = await createAlone(spec);
    expect(made.spec).toEqual({ ...spec, rules: [{ ...spec.rules[0], priority: 0 }] });
    expect((await createAlone({})).spec).toEqual({});
  });

  test('C26.10: a MediaProfile that is out of bounds is refused with every field named', async () => {
    const wrong = createAlone({
      ladder: [rung(63, 1)],
      crf: 99,
      preset: 'warp',
      audio: { tracks_max: 0 },
      rules: [{ priority: 5000 }],
    });
    const error = await wrong.catch((thrown: unknown) => thrown);
    if (!(error instanceof KubeError)) throw new TypeError('it is refused');
    expect(error.causes.map(({ field }) => field)).toEqual(
      expect.arrayContaining([
        'spec.ladder[0].short_side',
        'spec.ladder[0].bitrate',
        'spec.crf',
        'spec.preset',
        'spec.audio.tracks_max',
        'spec.rules[0].priority',
      ]),
    );
  });
});

/** A worker, MediaProfiles and MediaJobs in one namespace; sources are what the scripted runner works by. */
async function openScene() {
  const rig = await openControllerRig();
  const { admin, namespace } = rig;
  const source = `${rig.notes}/ok`;
  await rig.source.put(source, Buffer.alloc(200), { contentType: 'video/mp4' });
  rig.startWorker();
  const apply = (name: string, spec: object) =>
    admin.apply(mediaProfiles, { metadata: { name, namespace }, spec: { ...spec } });
  const shown = async (name: string) => (await admin.get(mediaProfiles, { namespace, name })).status;
  const isValid = async (name: string, generation: number) => {
    const status = await shown(name);
    return status?.observedGeneration === generation && status.conditions?.[0]?.status === 'True';
  };
  return {
    rig,
    source,
    apply,
    shown,
    /** Applies it, and waits until jobs may get it; its digest. */
    publish: async (name: string, spec: object) => {
      const { metadata } = await apply(name, spec);
      await until(`${name} is valid`, () => isValid(name, metadata?.generation ?? 0));
      return (await shown(name))?.digest;
    },
    remove: (name: string) => admin.delete(mediaProfiles, { namespace, name }),
    create: async (name: string, more: Partial<MediaJobSpec> = {}) => {
      const spec: MediaJobSpec = { type: 'video:transcode', hash: 'video', source, ...more };
      const { metadata } = await admin.create(mediaJobs, { metadata: { name, namespace }, spec });
      return metadata?.uid ?? '';
    },
    /** The job's profile, once it has a row. */
    profileOf: async (id: string) => {
      await until(`job ${id} has a row`, async () => (await rig.jobs.find(id)) !== null);
      return (await rig.find(id)).profile;
    },
  };
}

const progressing = async (rig: ControllerRig, name: string) =>
  conditionOf(await rig.mediaJobNamed(name), 'Progressing');

async function messageOf(rig: ControllerRig, name: string) {
  const { status } = await rig.mediaJobNamed(name);
  return status?.conditions?.find(({ type }) => type === 'Progressing')?.message;
}

describe('a MediaJob that names a profile', () => {
  test('C26.9: a MediaJob waits for a MediaProfile that does not exist or is not valid, says so, and then runs with it', async () => {
    const { rig, apply, shown, publish, create } = await openScene();
    rig.runAll(scriptedRunner);
    const id = await create('later', { profile: 'lectures' });
    await until('it waits', async () => (await progressing(rig, 'later')) === 'False/ProfileNotFound');
    expect(await messageOf(rig, 'later')).toMatch(/^spec\.profile: there is no profile lectures; known are default, /);

    await apply('lectures', { ladder: [rung(720, 2e6), rung(360, 3e6)] });
    await until('the fault is shown', async () => (await progressing(rig, 'later')) === 'False/ProfileInvalid');
    await until('its status has the fault', async () => (await shown('lectures'))?.conditions !== undefined);
    expect((await shown('lectures'))?.conditions?.[0]).toMatchObject({
      type: 'Valid',
      status: 'False',
      reason: 'Invalid',
      message: 'spec.ladder: must go from small to large in each codec, by `short_side` and by `bitrate`',
    });
    expect(await rig.jobs.find(id)).toBeNull();

    await publish('lectures', { ladder: [rung(360, 2e6), rung(720, 3e6)], crf: 30 });
    await until('it has ended', async () => (await rig.jobs.find(id))?.status === 'completed');
    const [job] = await rig.node.jobs();
    const { initContainers = [], containers = [] } = job?.spec?.template.spec ?? {};
    const tasks = [...initContainers, ...containers].flatMap(({ env = [] }) =>
      env.filter(({ name }) => name === 'RUNNER_TASK').map(({ value = '' }) => JSON.parse(value) as object),
    );
    expect(tasks.length).toBeGreaterThan(0);
    for (const task of tasks)
      expect(task).toMatchObject({ profile: { name: 'lectures', crf: 30, ladder: [rung(360, 2e6), rung(720, 3e6)] } });
  });

  test('C11.24, C26.10, C26.11, C26.12: a changed or removed profile makes no new job of an equal MediaJob', async () => {
    const { rig, publish, create, shown, apply, remove, profileOf } = await openScene();
    const digest = await publish('mine', { crf: 30 });
    const first = await create('first', { profile: 'mine' });
    expect(await profileOf(first)).toMatchObject({ name: 'mine', crf: 30 });
    expect(await publish('mine', { crf: 31 })).not.toBe(digest);
    const follows = (name: string) =>
      until(`${name} follows`, async () => (await rig.mediaJobNamed(name)).status?.jobId === first);
    await create('equal', { profile: 'mine' });
    await follows('equal');
    expect((await rig.find(first)).profile).toMatchObject({ crf: 30 });

    await apply('mine', { crf: 31, ladder: [rung(720, 2e6), rung(360, 3e6)] });
    await until('the fault is shown', async () => (await shown('mine'))?.conditions?.[0]?.status === 'False');
    await until('an Event says it', async () => {
      const { items } = await rig.admin.list(events, { namespace: rig.namespace });
      return items.some(({ reason, regarding }) => reason === 'Invalid' && regarding?.kind === 'MediaProfile');
    });
    expect(await shown('mine')).toMatchObject({ digest: await publish('copy', { crf: 31 }), rungs: 4, codecs: 'h264' });
    expect(await profileOf(await create('still', { profile: 'mine', hash: 'video-2' }))).toMatchObject({ crf: 31 });

    await remove('mine');
    await create('late', { profile: 'mine' });
    await follows('late');
  });
});
