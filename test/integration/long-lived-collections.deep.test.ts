import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { videoKey } from '#domain/media/object-keys.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { checkout } from '../../testing/checkout.ts';
import { CollectionWatch } from '../../testing/collections.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from '../contract/api-under-test.ts';

// Every map and set of the service and of a worker, by the line that makes it: each round does the same with other
// hashes, jobs, receivers and tokens, and none may keep an entry of each but those below, whose bounds unit tests hold.

const bounded = [
  'delivery/deleted-media.ts',
  'delivery/data-plane/read-cache.ts',
  'delivery/data-plane/stream-fast-path.ts',
  'delivery/playback-states.ts',
  'domain/webhooks/receivers.ts',
  'platform/storage/folder/real-folders.ts',
];

const ofARound = 40;
const rev = '0123456789abcdef';

let watch: CollectionWatch;
let api: ApiUnderTest;
let rig: Rig;
beforeAll(async () => {
  watch = new CollectionWatch(checkout);
  api = await startApi();
  rig = await openRig({ WEBHOOK_BACKOFF: '0s' });
  rig.startWorker();
}, 120_000);
afterAll(async () => {
  watch.close();
  await rig.close();
  await api.close();
});

async function oneOf(name: string): Promise<void> {
  const submit = async (hash: string) =>
    (await api.submit({ type: 'image:thumbnail', hash, source: `${name}.jpg` })).json.job_id as string;
  const [followed, completed] = [await submit(name), await submit(`${name}-done`)];
  const following = api.call(`/api/jobs/${followed}/events`, { headers: { accept: 'text/event-stream' } });
  await api.call(`/api/jobs/${followed}/cancel`, { method: 'POST' });
  await following;
  await api.complete(completed, { images: [] } as never);
  await api.call(`/api/jobs/${completed}?wait=1`);
  await api.putMedia(videoKey(name, rev, 'video/r360_h264/seg_1.m4s'), Buffer.alloc(1000));
  for (const path of [`${rev}/video/r360_h264/seg_1.m4s`, 'master.m3u8', 'video/r360_h264/playlist.m3u8'])
    await api.raw(`/stream/${name}/${path}`);
  const token = signPlaybackToken({ hash: name, exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
  await api.raw(`/api/key/${name}`, { headers: { authorization: `Bearer ${token}` } });
  await api.raw(`/thumb/unsigned/${name}`);
  const begun = { method: 'POST', body: JSON.stringify({ name: `${name}.mp4`, size: 1000 }) };
  const upload = await api.call('/api/uploads', begun);
  if (upload.json.id !== undefined) await api.call(`/api/uploads/${upload.json.id}`, { method: 'DELETE' });
  await api.call(`/api/media/${name}`, { method: 'DELETE' });
  await rig.finished(await rig.submit('ok', { callbackUrl: `http://${name}.invalid/hook`, hash: name }));
}

async function round(tag: string): Promise<ReadonlyMap<string, number>> {
  const names = Array.from({ length: ofARound }, (_, index) => `${tag}${index}`).values();
  const workRest = async () => {
    for (const name of names) await oneOf(name);
  };
  await Promise.all(Array.from({ length: 8 }, workRest));
  // What is sent to receivers, and what streams left, ends by itself.
  await until(
    async () =>
      (await rig.database.pool.query('select from webhook_events where next_attempt_at is not null')).rowCount,
    (count) => count === 0,
  );
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let times = 0; times < 3; times++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return watch.sizes();
}

it('no map or set of the service or a worker keeps an entry of each job, media, receiver or client', async () => {
  await round('warm');
  const before = await round('first');
  const after = await round('second');
  const grown = [...after]
    .map(([place, size]) => [place, size - (before.get(place) ?? 0)] as const)
    .filter(([place, growth]) => growth >= ofARound / 2 && !bounded.some((path) => place.startsWith(path)));
  expect(before.size).toBeGreaterThan(20);
  expect(grown).toEqual([]);
}, 600_000);
