import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { imageKey, masterKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { adopt } from '#jobs/submission/adopt.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openUploadBucket } from '#platform/storage/upload-bucket.ts';
import { mediaDeletionTask } from '../../controller/upkeep/media-deletion.ts';
import { retentionTasks } from '../../controller/upkeep/retention.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { newFolder } from './imports-rig.ts';

// Where two features meet: a deletion and an equal submission, a pool and a retry, two retentions of one job.

const dayMs = 86_400_000;
let api: ApiUnderTest;
let fence: DeletionFence;
beforeAll(async () => {
  api = await startApi();
  fence = new DeletionFence(api.d.database);
  await api.putSource('a.mp4', Buffer.alloc(10, 1));
});
afterAll(() => api.close());

const query = async (text: string, parameters: unknown[] = []) =>
  (await api.d.database.pool.query(text, parameters)).rows as Record<string, unknown>[];
const newHash = () => `m-${randomUUID().slice(0, 8)}`;
const signal = new AbortController().signal;

async function deletionRound(): Promise<void> {
  const more = { fence, purgeHookUrl: null, webhookSecret: 'x'.repeat(40), receiptRetentionMs: null, quietMs: 0 };
  await mediaDeletionTask({ ...api.d, ...more }).work(signal);
}

async function retentionRound(times: { jobRetentionMs: number | null; revisionRetentionMs: number | null }) {
  const retention = new RetentionStore(api.d.database);
  const { media, log } = api.d;
  const dependencies = { retention, cleanup: new CleanupStore(api.d.database), fence, media, log, ...times };
  for (const task of retentionTasks(dependencies)) await task.work(signal);
}

async function thumbnail(hash: string, source = 'a.jpg') {
  const body = { type: 'image:thumbnail', hash, source };
  const { json } = await api.submit(body);
  const key = imageKey(hash, revisionOf(json.job_id, 1), { variant: 'thumb', format: 'webp' });
  await api.putMedia(key, 'RIFF');
  await api.complete(json.job_id, { key, outputs: [] });
  return { id: json.job_id as string, key, body };
}

async function stream(hash: string) {
  const { json } = await api.submit({ type: 'video:transcode', hash, source: 'a.mp4', options: { encrypt: false } });
  const rev = revisionOf(json.job_id, 1);
  const init = videoKey(hash, rev, 'video/r64_h264/init.mp4');
  await api.putMedia(init, 'x');
  await api.putMedia(masterKey(hash), `#EXTM3U\n${rev}/video/r64_h264/playlist.m3u8\n`);
  const streaming = { protocol: 'hls', master_playlist: masterKey(hash) };
  await api.complete(json.job_id, { streaming, video_tracks: [{ init }], audio_tracks: [] } as never);
  return { id: json.job_id as string, init };
}

describe('a deletion of a media', () => {
  it('goes on where a media that expires has lost its jobs to two retentions at once', async () => {
    const hash = newHash();
    const jobs = [await thumbnail(hash), await thumbnail(hash, 'b.jpg')];
    const clients = [await api.d.database.pool.connect(), await api.d.database.pool.connect()];
    for (const client of clients) await client.query('begin');
    for (const [index, client] of clients.entries())
      await client.query('delete from jobs where id = $1', [jobs[index]?.id]);
    for (const client of clients) {
      await client.query('commit');
      client.release();
    }
    await query(
      `insert into media (hash, expires_at) values ($1, now() - interval '1 second')
       on conflict (hash) do update set expires_at = excluded.expires_at`,
      [hash],
    );
    const other = newHash();
    await thumbnail(other);
    await api.call(`/api/media/${other}`, { method: 'DELETE' });
    await expect
      .poll(async () => {
        await deletionRound();
        return (await api.call(`/api/media/${other}/deletion`)).json.status as string;
      })
      .toBe('deleted');
    expect(await query('select from media where hash = $1', [hash])).toEqual([]);
  });

  it('C32.6: a submission that waits for one needs no slot of a rerun', async () => {
    const hash = newHash();
    await thumbnail(hash);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const { json } = await api.submit({ type: 'image:thumbnail', hash, source: 'other.jpg' });
    await query(`update jobs set created_at = now() - interval '10 seconds' where id = $1`, [json.job_id]);
    const wanted = async () => JSON.stringify(await api.d.rollouts.slots.waitingSubmissions(2000));
    const during = await wanted();
    await query(`update media_deletions set lifted_at = now() where hash = $1`, [hash]);
    expect(await wanted()).not.toBe(during);
    await api.call(`/api/jobs/${json.job_id}/cancel`, { method: 'POST' });
  });
});

const placeOf = async (id: string) => (await query('select pool, queue from jobs where id = $1', [id]))[0];

describe('a job that names a pool', () => {
  it('C32.6: waits for the same slots as the queue that the pool serves', async () => {
    const ids: string[] = [];
    for (const pool of ['video-large', null]) {
      const { json } = await api.submit({ type: 'video:cover', hash: newHash(), source: 'a.mp4' });
      ids.push(json.job_id as string);
      await query(
        `update jobs set pool = $2, queue = 'video:large', created_at = now() - interval '10 seconds' where id = $1`,
        [json.job_id, pool],
      );
    }
    const waiting = await api.d.rollouts.slots.waitingSubmissions(2000);
    expect(waiting).toContainEqual({ slots: 'video-large', jobs: 2 });
    for (const id of ids) await api.call(`/api/jobs/${id}/cancel`, { method: 'POST' });
  });

  it('keeps it in a retry, and in a rerun waits in the queue of that pool', async () => {
    const failed = async (pool: string) => {
      const { json } = await api.submit({ type: 'video:cover', hash: newHash(), source: 'a.mp4' });
      await query('update jobs set pool = $2 where id = $1', [json.job_id, pool]);
      await api.fail(json.job_id);
      return json.job_id as string;
    };
    const retried = await api.call(`/api/jobs/${await failed('gpu')}/retry`, { method: 'POST' });
    expect(await placeOf(retried.json.jobs[0].job_id as string)).toMatchObject({ pool: 'gpu' });
    const rerun = await api.call(`/api/jobs/${await failed('video-large')}/rerun`, { method: 'POST' });
    expect(await placeOf(rerun.json.job_id as string)).toEqual({ pool: 'video-large', queue: 'video:large' });
  });
});

describe('a repair of missing results', () => {
  it('C13.38: has the profile and the priority of the request', async () => {
    const mediaProfiles = mediaProfilesSchema.parse({ profiles: { small: { crf: 30 } } });
    const other = await startApi({ repairMissing: true, mediaProfiles });
    await other.putSource('a.mp4', Buffer.alloc(10, 1));
    const body = { type: 'video:transcode', hash: 'repaired', source: 'a.mp4', options: { encrypt: false } };
    const { json } = await other.submit(body);
    const init = videoKey('repaired', revisionOf(json.job_id, 1), 'video/r64_h264/init.mp4');
    const streaming = { protocol: 'hls', master_playlist: masterKey('repaired') };
    await other.complete(json.job_id, { streaming, video_tracks: [{ init }], audio_tracks: [] } as never);
    const again = await other.submit(body, { 'x-profile': 'small', 'x-priority': '7' });
    expect(again.status).toBe(202);
    expect(await other.d.jobs.find(again.json.job_id as string)).toMatchObject({
      profile: { name: 'small' },
      priority: 7,
      rerunOfJobId: json.job_id,
    });
    await other.close();
  });
});

/** A MediaJob from kubectl. */
const applied = (key: object) => ({
  metadata: { uid: randomUUID(), name: 'n' },
  spec: { type: 'video:cover', hash: newHash(), source: 'a.mp4', ...key },
});

it('C36.10: a MediaJob takes the turns of the key that its spec names', async () => {
  const adopted = await Promise.all(
    [{ key: '2bb80d53' }, {}].map((key) => adopt(applied(key) as never, { ...api.d, webhookCidrs: [] })),
  );
  expect(adopted).toMatchObject([{ job: { keyId: '2bb80d53' } }, { job: { keyId: null } }]);
});

it('C38.12: a MediaJob with a title names its job and media; applied again, it does not undo a change', async () => {
  const hash = newHash();
  const mediaJob = (title: string) => ({
    metadata: { uid: randomUUID(), name: 'n' },
    spec: { type: 'video:cover', hash, source: 'a.mp4', title },
  });
  const titled = mediaJob('São Paulo');
  const { job } = (await adopt(titled as never, { ...api.d, webhookCidrs: [] })) as { job: { id: string } };
  const titles = async () => [
    (await api.call(`/api/jobs/${job.id}`)).json.title as unknown,
    (await api.call(`/api/media/${hash}`)).json.title as unknown,
  ];
  expect([job.id, await titles()]).toEqual([titled.metadata.uid, ['São Paulo', 'São Paulo']]);
  await api.d.library.change(hash, { title: 'Renamed' });
  await adopt(titled as never, { ...api.d, webhookCidrs: [] });
  expect(await titles()).toEqual(['São Paulo', 'Renamed']);
  // Another MediaJob that is equal to it.
  await adopt(mediaJob('Another') as never, { ...api.d, webhookCidrs: [] });
  expect(await titles()).toEqual(['São Paulo', 'Another']);
  const refused = await adopt(mediaJob(' ') as never, { ...api.d, webhookCidrs: [] });
  expect(refused).toMatchObject({ refusal: expect.stringContaining('spec.title: must be 1–256 characters') as string });
});

describe('receivers of a job', () => {
  it('C11.38: a MediaJob that is equal to an active job adds its callbackUrl', async () => {
    const spec = { type: 'video:cover', hash: newHash(), source: 'a.mp4' };
    const { json } = await api.submit(spec);
    const mediaJob = {
      metadata: { uid: randomUUID(), name: 'n' },
      spec: { ...spec, callbackUrl: 'https://example.com/n' },
    };
    const adopted = await adopt(mediaJob as never, { ...api.d, webhookCidrs: [] });
    expect(adopted).toMatchObject({ job: { id: json.job_id } });
    const unknown = { ...mediaJob, spec: { ...spec, profile: 'missing', callbackUrl: 'https://example.com/m' } };
    expect(await adopt(unknown as never, { ...api.d, webhookCidrs: [] })).toMatchObject({ job: { id: json.job_id } });
    await api.fail(json.job_id);
    expect(await query('select url from webhook_events where job_id = $1 order by url', [json.job_id])).toEqual([
      { url: 'https://example.com/m' },
      { url: 'https://example.com/n' },
    ]);
  });

  it('a job is kept until its further receivers have heard of its end', async () => {
    const body = { type: 'image:thumbnail', hash: newHash(), source: 'a.jpg' };
    const { json } = await api.submit({ ...body, callback_url: 'https://one.example.com/' });
    await api.submit({ ...body, callback_url: 'https://two.example.com/' });
    await api.complete(json.job_id, { key: 'x', outputs: [] });
    await query(
      `update jobs set callback_status = 'sent', swept_at = now(), finished_at = now() - interval '2 days'
       where id = $1`,
      [json.job_id],
    );
    const sent = 'update webhook_events set next_attempt_at = null where job_id = $1 and is_additional = $2';
    await query(sent, [json.job_id, false]);
    await retentionRound({ jobRetentionMs: dayMs, revisionRetentionMs: null });
    expect((await api.call(`/api/jobs/${json.job_id}`)).status).toBe(200);
    await query(sent, [json.job_id, true]);
    await query('update jobs set retention_after = null where id = $1', [json.job_id]);
    await retentionRound({ jobRetentionMs: dayMs, revisionRetentionMs: null });
    expect((await api.call(`/api/jobs/${json.job_id}`)).status).toBe(404);
  });
});

describe('two retentions of one stream', () => {
  it('C17.4: a stream that was held past its job is kept for as long as any other from when it was replaced', async () => {
    const hash = newHash();
    const { id, init } = await stream(hash);
    await query(
      `update jobs set idempotency_key = 'x' || id, swept_at = now(),
         finished_at = now() - interval '91 days', created_at = now() - interval '91 days' where id = $1`,
      [id],
    );
    await query(
      'insert into media (hash, legal_hold) values ($1, true) on conflict (hash) do update set legal_hold = true',
      [hash],
    );
    await retentionRound({ jobRetentionMs: 90 * dayMs, revisionRetentionMs: 30 * dayMs });
    await stream(hash);
    await query('update media set legal_hold = false where hash = $1', [hash]);
    await retentionRound({ jobRetentionMs: null, revisionRetentionMs: 30 * dayMs });
    expect(await api.d.media.head(init)).not.toBeNull();
  });
});

const bucketOf = (store: Awaited<ReturnType<typeof newFolder>>) =>
  openUploadBucket({ store, publicEndpoint: undefined, prefix: 'uploads/', expiryMs: dayMs, openMax: 2 });

describe('uploads', () => {
  it('C30.9: beginnings that the storage refused take no place', async () => {
    const store = await newFolder();
    const bucket = bucketOf(store);
    const begin = bucket.parts.begin.bind(bucket.parts);
    let isAway = true;
    bucket.parts.begin = async (...given) => {
      if (isAway) throw new KnownProblem('storage_error');
      return begin(...given);
    };
    const other = await startApi({}, { source: openObjectStore(store), uploads: bucket });
    const post = async () => {
      const body = JSON.stringify({ name: 'a.mp4', size: 100 });
      const headers = { 'content-type': 'application/json' };
      return (await other.call('/api/uploads', { method: 'POST', headers, body })).status;
    };
    expect([await post(), await post(), await post()]).toEqual([500, 500, 500]);
    isAway = false;
    expect(await post()).toBe(201);
    await other.close();
    await bucket.close();
  });

  it('C30.3: of two requests at once for one part, one stays', async () => {
    const bucket = bucketOf(await newFolder());
    const multipart = {
      key: 'uploads/a.mp4',
      id: await bucket.parts.begin('uploads/a.mp4', { contentType: 'video/mp4' }),
    };
    for (let round = 0; round < 40; round += 1) {
      const bodies = [Buffer.from(`one ${round}`.padEnd(10)), Buffer.from(`two ${round}`.padEnd(10))];
      await Promise.all(bodies.map((body) => bucket.parts.put(multipart, 1, { body, sizeBytes: body.length })));
      expect(await bucket.parts.list(multipart)).toHaveLength(1);
    }
    await bucket.close();
  });
});
