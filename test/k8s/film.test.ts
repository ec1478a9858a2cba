import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs } from '#platform/kubernetes/objects.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { sample } from '../../testing/media.ts';

// Films in chunks, with the real runner. What the Job controller does for an Indexed Job, the test's node does.

let film: string;
beforeAll(async () => {
  await installCrds();
  const sound = '-f lavfi -i sine=f=440:r=48000:d=36 -f lavfi -i sine=f=880:r=48000:d=36 -map 0 -map 1 -map 2';
  const clip = `-f lavfi -i testsrc2=s=160x90:r=25:d=36 ${sound}`;
  film = await sample('k8s-film.mp4', `${clip} -c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p -c:a aac`);
});

const settings = { CHUNK_LENGTH: '6s', RUNNER_POOLS: JSON.stringify({ default: { concurrency: 3 } }) };

async function openFilm(variables: Record<string, string> = {}) {
  const rig = await openControllerRig({ ...settings, ...variables });
  await rig.writeSource('source', await readFile(film));
  const over = new AbortController();
  onTestFinished(() => over.abort());
  return { rig, runAll: () => rig.node.runAll(over.signal) };
}

async function ended(rig: ControllerRig, id: string) {
  await until(`job ${id} is over`, async () => isFinal((await rig.find(id)).status), 90_000);
  return rig.find(id);
}

const partsOf = async (rig: ControllerRig, id: string) => {
  const { items } = await rig.admin.list(jobs, { namespace: rig.namespace });
  return items
    .map(({ metadata }) => String(metadata?.name).slice(`mj-${id}-`.length))
    .toSorted((a, b) => a.localeCompare(b));
};

describe('a film', () => {
  test('C3.26: is split, encoded by the pods of an Indexed Job, and finished', async () => {
    const { rig, runAll } = await openFilm();
    rig.startWorker();
    runAll();
    const id = await rig.submit('video:transcode', { options: { encrypt: true } });
    expect(await ended(rig, id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0, disruptions: 0 });
    expect(await partsOf(rig, id)).toEqual(['1', '1-e', '1-f']);
    await until('its MediaJob shows the end', async () => (await rig.mediaJob(id)).status?.phase === 'completed');
    expect((await rig.mediaJob(id)).status?.chunks).toBe('6/6');
  });
});
