import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { JobType } from '#domain/job-types/index.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';
import { CostCounter, type Costs, ofTheTest } from '../../testing/costs.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from '../contract/api-under-test.ts';

// What one request or one job asks of other systems, against the numbers that are recorded here. They do not depend on
// the machine. A number that grows fails its test: raise it only where the new work is needed each time, and let
// `because` say why. One that falls fails too, so that it is recorded.

type Recorded = Costs & { readonly because: string };
const nothing: Costs = { sql: 0, redis: 0, objects: 0, processes: 0 };

const recorded = {
  'a submission of an image': {
    ...nothing,
    sql: 1,
    redis: 2,
    because: 'its row; the rate limit and its ticket',
  },
  'a submission of a video': {
    ...nothing,
    sql: 1,
    redis: 2,
    objects: 1,
    because: 'its row; the rate limit and its ticket; its size, which chooses the queue',
  },
  'a submission with a title': {
    ...nothing,
    sql: 2,
    redis: 2,
    because: 'its row, and the title of its media; the rate limit and its ticket',
  },
  'an equal submission': {
    ...nothing,
    sql: 3,
    redis: 2,
    because: 'no row, the one that there is, and why it waits; the rate limit and its ticket, which may be lost',
  },
  'a cold segment': { ...nothing, objects: 1, because: 'the segment' },
  'a hot segment': { ...nothing, because: 'it is in memory' },
  'a key that no one asked for lately': { ...nothing, sql: 1, redis: 1, because: 'the key; the rate limit' },
  'a remembered key': { ...nothing, redis: 1, because: 'the rate limit' },
  'an image that no one asked for before': {
    sql: 1,
    redis: 0,
    objects: 3,
    processes: 0,
    because: 'whether its media is deleted; the cached image, its source, and the image to be cached',
  },
  'an image in memory': { ...nothing, because: 'it is in memory' },
  'an image job by a kept runner': {
    sql: 6,
    redis: 2,
    objects: 2,
    processes: 0,
    because:
      'its row, its claim, and its end: a transaction that locks the row first; its ticket, in and out; its manifest, ' +
      'and a list that finds its objects whole',
  },
  'a short video': {
    sql: 8,
    redis: 2,
    objects: 5,
    processes: 3,
    because:
      'as an image job, with the lock of its hash and whether a newer stream is there; whether it was split, its ' +
      'playlist, and the one that publishes it; three steps',
  },
} as const satisfies Record<string, Recorded>;

function expectCosts(
  name: keyof typeof recorded,
  { log, ...found }: Costs & { readonly log: readonly string[] },
): void {
  const { because, ...costs } = recorded[name];
  expect(found, `${name} (${because}) asked for:\n${log.join('\n')}`).toEqual(costs);
}

const photo = () =>
  sharp({ create: { width: 64, height: 48, channels: 3, background: '#336699' } })
    .jpeg()
    .toBuffer();

describe.skipIf(!inject('redis'))('what a request asks of other systems', () => {
  const rev = '0123456789abcdef';
  const segment = `video/r360_h264/seg_1.m4s`;
  const image = `images/ab/photo/${rev}/thumb.jpg`;
  const other = image.replace('photo', 'other');
  const limits = 'limit:';
  let api: ApiUnderTest;
  let counter: CostCounter;
  beforeAll(async () => {
    api = await startApi();
    await api.putSource('photo.jpg', await photo());
    await api.putSource('clip.mp4', Buffer.alloc(1000));
    await api.putMedia(videoKey('movie', rev, segment), Buffer.alloc(300_000));
    for (const key of [image, other]) await api.putMedia(key, await photo());
    await api.d.contentKeys.findOrCreate('movie');
    counter = new CostCounter([api.d.source, api.d.media]);
  });
  afterAll(async () => {
    counter.close();
    await api.close();
  });

  const cachedImages = (count: number) =>
    until(
      async () => (await Array.fromAsync(api.d.media.list('cache/thumb/'))).length,
      (found) => found === count,
    );

  it.each([
    ['a submission of an image', { type: 'image:thumbnail', hash: 'an-image', source: 'photo.jpg' }],
    ['a submission of a video', { type: 'video:transcode', hash: 'a-video', source: 'clip.mp4' }],
    ['an equal submission', { type: 'image:thumbnail', hash: 'an-image', source: 'photo.jpg' }],
    ['a submission with a title', { type: 'image:thumbnail', hash: 'a-title', source: 'photo.jpg' }],
  ] as const)('%s costs what is recorded', async (name, body) => {
    const { json } = await api.submit(body, name.endsWith('title') ? { 'x-title': 'A title' } : {});
    const keyOf = `select idempotency_key as key from jobs where id = $1 ${ofTheTest}`;
    const { rows } = await api.d.database.pool.query<{ key: string }>(keyOf, [json.job_id]);
    expectCosts(name, counter.take([body.hash, json.job_id as string, rows[0]?.key ?? '', limits]));
  });

  it('a segment costs one read of the bucket until it is in memory', async () => {
    for (const name of ['a cold segment', 'a cold segment', 'a hot segment'] as const) {
      expect((await api.raw(`/stream/movie/${rev}/${segment}`)).status).toBe(200);
      expectCosts(name, counter.take(['movie', limits]));
    }
  });

  it('a content key costs one statement in five seconds', async () => {
    const token = signPlaybackToken({ hash: 'movie', exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
    for (const name of ['a key that no one asked for lately', 'a remembered key'] as const) {
      expect((await api.raw('/api/key/movie', { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
      expectCosts(name, counter.take(['movie', limits]));
    }
  });

  it('an image of `/thumb` is made once', async () => {
    const [secret = ''] = thumbSecretsOf([], keyTokenSecret);
    const ask = async (key: string) => expect((await api.raw(signThumbPath(key, { w: 30 }, secret))).status).toBe(200);
    // The process that makes images starts with the first one.
    await ask(other);
    await cachedImages(1);
    counter.take([]);
    await ask(image);
    await cachedImages(2);
    const { objects, log, ...others } = counter.take(['photo', limits]);
    const lists = log.filter((line) => line.startsWith('list ')).length;
    expectCosts('an image that no one asked for before', { ...others, objects: objects - lists, log });
    await ask(image);
    expectCosts('an image in memory', counter.take(['photo', limits]));
  });
});

describe.skipIf(!inject('redis'))('what a job asks of other systems, beside its runner', () => {
  let rig: Rig;
  let counter: CostCounter;
  beforeAll(async () => {
    rig = await openRig({ REDIS_URL: inject('redis')?.url ?? '' });
    counter = new CostCounter([rig.source, rig.media]);
    rig.startWorker();
    await run('image:thumbnail');
  });
  afterAll(async () => {
    counter.close();
    await rig.close();
  });

  async function run(type: JobType) {
    const id = await rig.submit('ok', { type });
    const state = `select status, hash from jobs where id = $1 ${ofTheTest}`;
    const [job] = await until(
      async () => (await rig.database.pool.query<{ status: string; hash: string }>(state, [id])).rows,
      ([found]) => found?.status === 'completed',
    );
    // Its ticket is taken out after its end.
    await until(
      () => rig.queue.depth(),
      (depth) => Object.values(depth).every(({ pending, active }) => pending + active === 0),
    );
    return counter.take([id, job?.hash ?? '']);
  }

  it.each([
    ['an image job by a kept runner', 'image:thumbnail'],
    ['a short video', 'video:transcode'],
  ] as const)('%s costs what is recorded', async (name, type) => {
    const costs = await run(type);
    expectCosts(name, costs);
  });
});
