import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { putLongVideo } from './support/clips.ts';
import { kubectl } from './support/kubectl.ts';
import type { PodObject } from './support/objects.ts';
import {
  cancelUnfinished,
  completed,
  eventually,
  inRunners,
  leaderPod,
  openBucket,
  runnerPods,
  submit,
} from './support/service.ts';
import { showClusterOnFailure } from './support/show-cluster.ts';
import { watchPods } from './support/watch-pods.ts';
import { endsOnce, startReceiver } from './support/webhooks.ts';

// A chunked encode on a real cluster: its pods are run by real kubelets.

let clip: string;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  clip = await putLongVideo();
  receiver = await startReceiver();
});
showClusterOnFailure();
afterEach(cancelUnfinished);
afterAll(() => receiver.close());

/** The index of the pod of a chunk; undefined for any other. */
const indexOf = ({ metadata }: PodObject) => metadata.labels?.['batch.kubernetes.io/job-completion-index'];
const encoderOf = ({ status }: PodObject) =>
  status.initContainerStatuses?.find(({ name }) => name === 'process')?.state ?? {};
const isEncoding = (pod: PodObject) =>
  pod.metadata.deletionTimestamp === undefined && encoderOf(pod).running !== undefined;
const hasEncoded = (pod: PodObject) => encoderOf(pod).running !== undefined || encoderOf(pod).terminated !== undefined;
const hasSucceeded = ({ status }: PodObject) =>
  status.containerStatuses?.some(({ state }) => state?.terminated?.exitCode === 0) === true;

test('C26.3: an encrypted long video completes once while the pods of three chunks and the leading controller are deleted, and no other chunk is encoded again', async () => {
  const watch = watchPods('default');
  const options = { encrypt: true };
  const id = await submit({ type: 'video:transcode', source: clip, options, callback_url: receiver.url });
  const victims = new Set<string | undefined>([undefined]);
  while (victims.size < 4) {
    const victim = await eventually(
      async () => (await runnerPods(id)).find((pod) => isEncoding(pod) && !victims.has(indexOf(pod))),
      (pod) => pod !== undefined,
      120_000,
    );
    await inRunners('delete', 'pod', victim?.metadata.name ?? '', '--wait=false');
    victims.add(victim && indexOf(victim));
    if (victims.size === 2) {
      const { metadata } = await leaderPod();
      const atOnce = ['--grace-period=0', '--force', '--wait=false'];
      await kubectl('-n', metadata.namespace, 'delete', 'pod', metadata.name, ...atOnce);
    }
  }
  const job = await completed<'video:transcode'>(id);
  expect(job).toMatchObject({ attempt: 1 });
  expect(await endsOnce(receiver, id, 'completed')).toEqual({ failures: 0 });
  await watch.stop();
  const ofChunks = watch.all().filter(({ metadata }) => metadata.labels?.['reelwright.dev/job-id'] === id);
  for (const index of ['0', '1', '2', '3']) {
    const pods = ofChunks.filter((pod) => indexOf(pod) === index && hasEncoded(pod));
    expect([index, pods.filter(hasSucceeded).length]).toEqual([index, 1]);
    expect([index, pods.length <= (victims.has(index) ? 2 : 1)]).toEqual([index, true]);
  }
  const shown = await eventually(
    () => inRunners('get', 'mj', `mj-${id}`, '--no-headers'),
    (line) => line.includes('completed'),
  );
  expect(shown).toMatch(/\s4\/4\s/);
  await expectStream(job.results);
});

/** Every segment of every track is listed, and encrypted by one key. */
async function expectStream({ video_tracks: videos, audio_tracks: audio }: JobResults<'video:transcode'>) {
  const media = openBucket('media');
  try {
    expect(audio).toHaveLength(2);
    for (const { playlist, segment_count: count } of videos) {
      const object = await media.get(playlist);
      const lines = (object === null ? '' : await text(object.body)).split('\n');
      expect(lines.filter((line) => line.endsWith('.m4s'))).toHaveLength(count);
      expect(count).toBe(8);
      expect(lines.filter((line) => line.startsWith('#EXT-X-KEY'))).toHaveLength(1);
      expect(lines).toContain('#EXT-X-ENDLIST');
    }
  } finally {
    await media.close();
  }
}
