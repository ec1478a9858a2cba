import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { putFilm } from './support/clips.ts';
import type { PodObject } from './support/objects.ts';
import {
  cancelUnfinished,
  completed,
  eventually,
  inRunners,
  openBucket,
  runnerPods,
  submit,
} from './support/service.ts';
import { showClusterOnFailure } from './support/show-cluster.ts';

// A film in chunks on a real cluster: its Jobs are run by the real Job controller.

let film: string;
beforeAll(async () => {
  film = await putFilm();
});
showClusterOnFailure();
afterEach(cancelUnfinished);

const isOfChunk = ({ metadata }: PodObject) => metadata.labels?.['reelwright.dev/part'] === 'encode';
const isEncoding = ({ metadata, status }: PodObject) =>
  metadata.deletionTimestamp === undefined &&
  status.initContainerStatuses?.some(({ name, state }) => name === 'process' && state?.running !== undefined) === true;

test('C3.26: an encrypted film with two audio tracks completes by its Indexed Job, and a deleted pod costs its chunk', async () => {
  const id = await submit({ type: 'video:transcode', source: film, options: { encrypt: true } });
  const pods = await eventually(
    () => runnerPods(id),
    (all) => all.some((pod) => isOfChunk(pod) && isEncoding(pod)),
    120_000,
  );
  const victim = pods.find((pod) => isOfChunk(pod) && isEncoding(pod))?.metadata.name ?? '';
  await inRunners('delete', 'pod', victim, '--wait=false');
  const job = await completed<'video:transcode'>(id);
  expect(job).toMatchObject({ attempt: 1 });
  const succeeded = (await runnerPods(id)).filter((pod) => isOfChunk(pod) && pod.status.phase === 'Succeeded');
  expect(succeeded).toHaveLength(4);
  expect(succeeded.map(({ metadata }) => metadata.name)).not.toContain(victim);
  const shown = await eventually(
    () => inRunners('get', 'mj', `mj-${id}`, '--no-headers'),
    (line) => line.includes('completed'),
  );
  expect(shown).toMatch(/\s4\/4\s/);
  await expectStream(job.results);
});

/** Every segment of every track is listed, and encrypted by one key. */
async function expectStream({ video_tracks: videos, audio_tracks: sounds }: JobResults<'video:transcode'>) {
  const media = openBucket('media');
  try {
    expect(sounds).toHaveLength(2);
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
