import { createHash, createHmac, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { receiptKey } from '#domain/library/deletion.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { digestDocuments } from '#domain/work/object-digests.ts';
import { imageKey, masterKey, mediaPrefix, revisionOf, videoFolder, videoKey } from '#domain/media/object-keys.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { mediaDeletionTask, type MediaDeletionDependencies } from '../../controller/upkeep/media-deletion.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import { type RetentionDependencies, retentionTasks } from '../../controller/upkeep/retention.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Media".

const webhookSecret = 'webhook-secret-of-the-media-tests';
let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({ mediaProfiles: mediaProfilesSchema.parse({ profiles: { brief: { expires_after: '12h' } } }) });
});
afterAll(() => api.close());

const json = (method: string, body?: object) => ({
  method,
  ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
});
const query = (text: string, parameters: unknown[] = []) => api.d.database.pool.query(text, parameters);
const expiryOf = async (hash: string) => (await api.call(`/api/media/${hash}`)).json.expires_at as string | null;
const newHash = () => `m-${randomUUID().slice(0, 8)}`;

function results(hash: string, rev: string) {
  return {
    streaming: { protocol: 'hls', container: 'cmaf', encrypted: true, master_playlist: masterKey(hash) },
    video_tracks: [{ id: 'r64_h264', init: videoKey(hash, rev, 'video/r64_h264/init.mp4') }],
    audio_tracks: [],
  } as never;
}

/** A job that has ended with a stream of a few objects. */
async function stream(
  hash: string,
  { isPublished = true, profile = '' } = {},
): Promise<{ jobId: string; rev: string }> {
  await api.putSource('a.mp4', Buffer.alloc(10, 1));
  const { json: job } = await api.submit(
    { type: 'video:transcode', hash, source: 'a.mp4', options: { encrypt: true } },
    profile === '' ? {} : { 'x-profile': profile },
  );
  const [jobId, rev] = [job.job_id as string, revisionOf(job.job_id, 1)];
  const master = `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo/r64_h264/playlist.m3u8\n`;
  await api.putMedia(videoKey(hash, rev, 'master.m3u8'), master);
  await api.putMedia(videoKey(hash, rev, 'video/r64_h264/playlist.m3u8'), '#EXTM3U\n');
  await api.putMedia(videoKey(hash, rev, 'video/r64_h264/seg_1.m4s'), Buffer.alloc(1000, 7));
  await putDigests(hash, rev);
  if (isPublished) await api.putMedia(masterKey(hash), `#EXTM3U\n${rev}/video/r64_h264/playlist.m3u8\n`);
  await api.complete(jobId, results(hash, rev));
  // So that the next job of the hash is no equal one.
  await query(`update jobs set idempotency_key = 'x ' || id where id = $1`, [jobId]);
  return { jobId, rev };
}

/** `SHA256SUMS`, as the runner writes it. */
async function putDigests(hash: string, rev: string): Promise<void> {
  const objects = await Array.fromAsync(api.d.media.list(videoFolder(hash, rev)), async ({ key, sizeBytes: size }) => ({
    key,
    size,
    sha256: await sha256At(key),
  }));
  for (const { key, text } of digestDocuments(objects)) await api.putMedia(key, text);
}

async function sha256At(key: string): Promise<string> {
  const object = await api.d.media.get(key);
  const bytes = object === null ? '' : await buffer(object.body);
  return createHash('sha256').update(bytes).digest('hex');
}

const red = sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } });

async function thumbnail(hash: string): Promise<string> {
  const { json: job } = await api.submit({ type: 'image:thumbnail', hash, source: 'a.jpg' });
  const key = imageKey(hash, revisionOf(job.job_id, 1), { variant: 'thumb', format: 'webp' });
  await api.putMedia(key, Buffer.from('RIFF'));
  await api.complete(job.job_id, { key, outputs: [] });
  return key;
}

function deletions(more: Partial<MediaDeletionDependencies> = {}): MediaDeletionDependencies {
  const fence = new DeletionFence(api.d.database);
  return { ...api.d, fence, purgeHookUrl: null, webhookSecret, receiptRetentionMs: null, quietMs: 0, ...more };
}

/** Both retention times are a day. */
function retention(more: Partial<RetentionDependencies> = {}): PeriodicTask[] {
  const { database } = api.d;
  const stores = { retention: new RetentionStore(database), cleanup: new CleanupStore(database) };
  const times = { jobRetentionMs: 86_400_000, revisionRetentionMs: 86_400_000 };
  return retentionTasks({ ...api.d, ...stores, ...times, fence: new DeletionFence(database), ...more });
}

/** The media bucket with other methods, as of a process to which something happens. */
function mediaWith(changes: Partial<ObjectStore>): ObjectStore {
  return new Proxy(api.d.media, {
    get(target, name: keyof ObjectStore) {
      const own = changes[name] ?? target[name];
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

async function replacedAt({ jobId }: { readonly jobId: string }): Promise<Date | null> {
  return (await query('select replaced_at from jobs where id = $1', [jobId])).rows[0]?.replaced_at as Date | null;
}

const round = (dependencies = deletions()) => mediaDeletionTask(dependencies).work(new AbortController().signal);

async function until(isSo: () => Promise<boolean>, ms = 10_000): Promise<void> {
  for (const end = Date.now() + ms; !(await isSo());) {
    if (Date.now() > end) throw new Error(`not so within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function finished(hash: string) {
  await until(async () => {
    await round();
    return (await api.call(`/api/media/${hash}/deletion`)).json.status === 'deleted';
  });
  return (await api.call(`/api/media/${hash}/deletion`)).json;
}

async function keysOf(hash: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of api.d.media.list('')) if (key.includes(hash)) found.push(key);
  return found;
}

/** Times of the rows of the list, in an order that no clock decides. */
const madeAt = (n: number) => new Date(Date.UTC(2031, 0, 1) + n * 1_000);

describe('reading media', () => {
  it('C29.1: a media shows its revisions, images, jobs and the addresses that are true to a revision', async () => {
    const hash = newHash();
    const [first, second] = [await stream(hash), await stream(hash)];
    const image = await thumbnail(hash);
    const { status, json: media } = await api.call(`/api/media/${hash}`);
    expect(status).toBe(200);
    expect(media).toMatchObject({ hash, status: 'live', current: second.rev, legal_hold: false, expires_at: null });
    expect(media.revisions.map((one: { revision: string }) => one.revision)).toEqual([second.rev, first.rev]);
    expect(media.revisions.map((one: { current: boolean }) => one.current)).toEqual([true, false]);
    expect(media.revisions[1]).toMatchObject({ source: 'a.mp4', profile: 'default', tracks: ['r64_h264'] });
    expect(media.revisions[1].source_etag).toEqual((await api.d.source.head('a.mp4'))?.etag);
    expect(media.images.map((one: { key: string }) => one.key)).toEqual([image]);
    expect(media.jobs).toHaveLength(3);
    expect((await api.call(media.revisions[1].playlist)).status).toBe(200);
    expect((await api.call(media.playback.playlist)).status).toBe(200);
  });

  it('C29.2: a hash under which nothing was submitted is 404, and so is what is no hash', async () => {
    // Others are known, and one of them is deleted.
    const deleted = newHash();
    for (const hash of [newHash(), deleted]) await stream(hash);
    await api.call(`/api/media/${deleted}`, { method: 'DELETE' });
    for (const hash of ['nothing-here', 'no%20hash', '..%2F..']) {
      for (const [path, method] of [
        ['', 'GET'],
        ['', 'DELETE'],
        ['/deletion', 'GET'],
        ['/files', 'GET'],
      ] as const)
        expect([hash, method, (await api.call(`/api/media/${hash}${path}`, { method })).status]).toEqual([
          hash,
          method,
          404,
        ]);
      expect((await api.call(`/api/media/${hash}`, json('PATCH', { legal_hold: true }))).status).toBe(404);
    }
    expect((await query(`select from media where hash = 'nothing-here'`)).rowCount).toBe(0);
  });

  it('C29.3: lists page through the media by age, prefix, size and expiry, none twice', async () => {
    const prefix = `list${randomUUID().slice(0, 6)}`;
    const hashes = Array.from({ length: 7 }, (_, n) => `${prefix}-${n}`);
    for (const [n, hash] of hashes.entries())
      await query(
        `insert into media (hash, bytes, created_at, expires_at)
         values ($1, $2, $3, now() + interval '9 years' + $4 * interval '1 hour')`,
        [hash, 10 ** 12 + n, madeAt(n), n],
      );
    const pages = async (filter: string) => {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const { status, json: page } = await api.call(`/api/media?limit=3&${filter}${cursor && `&cursor=${cursor}`}`);
        expect(status).toBe(200);
        seen.push(...page.media.map((one: { hash: string }) => one.hash));
        cursor = page.next_cursor;
      }
      return seen.filter((hash) => hash.startsWith(prefix));
    };
    const newest = hashes.toReversed();
    expect(await pages('')).toEqual(newest);
    expect(await pages(`created_after=${madeAt(2.5).toISOString()}`)).toEqual(newest.slice(0, 4));
    expect(await pages(`prefix=${prefix}`)).toEqual(hashes);
    expect(await pages(`prefix=${prefix}-3`)).toEqual([hashes[3]]);
    expect(await pages(`bytes_min=${10 ** 12 + 3}`)).toEqual(newest.slice(0, 4));
    expect(await pages(`expires_before=${new Date(Date.now() + 20 * 31_557_600_000).toISOString()}`)).toEqual(hashes);
    // Equal values on both sides of a page's end.
    await query(
      `update media set bytes = 10^12, created_at = 'tomorrow', expires_at = '2100-01-01'
      where hash = any($1)`,
      [hashes],
    );
    expect(await pages('')).toEqual(newest);
    expect(await pages(`bytes_min=${10 ** 12}`)).toEqual(newest);
    expect(await pages('expires_before=2101-01-01T00:00:00Z')).toEqual(hashes);
    await query('delete from media where hash = any($1)', [hashes]);
  });

  it.each([
    ['prefix=a&bytes_min=1', '/bytes_min'],
    ['prefix=a&created_after=2026-01-01T00:00:00Z', '/created_after'],
    ['cursor=abc', '/cursor'],
    [`cursor=${Buffer.from('["bytes","1","a"]').toString('base64url')}`, '/cursor'],
    ['created_after=yesterday', '/created_after'],
    ['color=red', '/color'],
  ])('C29.4: the list refuses %s', async (filter, pointer) => {
    const { status, json: problem } = await api.call(`/api/media?${filter}`);
    expect([status, problem.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('C29.4: a cursor of one order is refused with the filter of another, also where both are times', async () => {
    for (const _ of [1, 2]) await thumbnail(newHash());
    const { json: page } = await api.call('/api/media?limit=1');
    const later = await api.call(`/api/media?expires_before=2999-01-01T00:00:00Z&cursor=${page.next_cursor}`);
    expect([later.status, later.json.errors[0].pointer]).toEqual([400, '/cursor']);
  });

  it('C29.5: the files of a media are listed page by page with size and etag', async () => {
    const hash = newHash();
    await stream(hash);
    const image = await thumbnail(hash);
    const keys: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { json: page } = await api.call(`/api/media/${hash}/files?limit=2&cursor=${encodeURIComponent(cursor)}`);
      for (const { key, size, etag } of page.files) {
        keys.push(key);
        const info = await api.d.media.head(key);
        expect([size, etag]).toEqual([info?.sizeBytes, info?.etag]);
      }
      cursor = page.next_cursor;
    }
    expect(keys).toEqual((await keysOf(hash)).toSorted());
    expect(keys).toContain(image);
    const { json: whole } = await api.call(`/api/media/${hash}/files?limit=${keys.length}`);
    expect([whole.files.length, whole.next_cursor]).toEqual([keys.length, null]);
  });

  it('C29.19: a file has the SHA-256 of its bytes, but for cached thumbnails and what has no digests', async () => {
    const hash = newHash();
    await stream(hash);
    const without = [await thumbnail(hash), `cache/thumb/${mediaPrefix(hash)}/${hash}/x.webp`];
    await api.putMedia(without[1] ?? '', 'RIFF');
    const { json: page } = await api.call(`/api/media/${hash}/files`);
    expect(page.files).toHaveLength(7);
    for (const { key, sha256 } of page.files)
      expect([key, sha256]).toEqual([key, without.includes(key) ? null : await sha256At(key)]);
    // No player reads the digests.
    const { key } = page.files.find((file: { key: string }) => file.key.endsWith('SHA256SUMS'));
    const path = key.split(`/${hash}/`)[1];
    expect((await api.call(`/stream/${hash}/${path}`)).status).toBe(404);
  });

  it('C29.6: an earlier revision is published again, and a later job still replaces it', async () => {
    const hash = newHash();
    const [first, second] = [await stream(hash), await stream(hash)];
    const path = `/api/media/${hash}/current`;
    const { status, json: media } = await api.call(path, json('PUT', { revision: first.rev }));
    expect([status, media.current]).toEqual([200, first.rev]);
    const master = await api.call(`/stream/${hash}/master.m3u8`);
    await until(async () => (await api.call(`/stream/${hash}/master.m3u8`)).text.includes(first.rev));
    expect(master.status).toBe(200);
    // It answers equal submissions again (C13.43).
    await query(`update jobs set idempotency_key = 'x ' || id where id = $1`, [first.jobId]);
    const third = await stream(hash);
    expect((await api.call(`/api/media/${hash}`)).json.current).toBe(third.rev);
    expect((await api.call(path, json('PUT', { revision: second.rev }))).status).toBe(200);
    expect((await api.call(path, json('PUT', { revision: '0123456789abcdef' }))).status).toBe(404);
    expect((await api.call(path, json('PUT', { revision: '../x' }))).status).toBe(400);
  });

  it('C29.6: publishing an earlier revision leaves when another one was replaced, by which it is kept', async () => {
    const hash = newHash();
    const [first, second, third] = [await stream(hash), await stream(hash), await stream(hash)];
    const before = await replacedAt(first);
    // As a retention of jobs leaves it, of which the retention of replaced streams must not count.
    await query(`update jobs set retention_after = now() - interval '1 year' where id = $1`, [third.jobId]);
    expect((await api.call(`/api/media/${hash}/current`, json('PUT', { revision: second.rev }))).status).toBe(200);
    const { rows } = await query('select retention_after from jobs where id = $1', [third.jobId]);
    expect(rows).toEqual([{ retention_after: null }]);
    expect([await replacedAt(first), await replacedAt(second)]).toEqual([before, null]);
    expect(await replacedAt(third)).not.toBeNull();
  });

  it('C29.1: a revision whose objects are deleted is neither shown nor published again', async () => {
    const hash = newHash();
    const [first, second] = [await stream(hash), await stream(hash)];
    await query('update jobs set results_expired = true where id = $1', [first.jobId]);
    const { json: media } = await api.call(`/api/media/${hash}`);
    expect(media.revisions.map((one: { revision: string }) => one.revision)).toEqual([second.rev]);
    expect(media.jobs).toHaveLength(2);
    expect((await api.call(`/api/media/${hash}/current`, json('PUT', { revision: first.rev }))).status).toBe(404);
  });
});

describe('expiry and hold', () => {
  it('C29.7: PATCH sets the expiry, and an expired media is deleted', async () => {
    const hash = newHash();
    await stream(hash);
    const path = `/api/media/${hash}`;
    const set = await api.call(path, json('PATCH', { expires_at: '2099-01-01T00:00:00Z' }));
    expect([set.status, set.json.expires_at]).toEqual([200, '2099-01-01T00:00:00.000Z']);
    expect((await api.call(path, json('PATCH', { expires_at: null }))).json.expires_at).toBeNull();
    for (const body of [{}, { expires_at: 'soon' }, { expires_at: '99999-01-01T00:00:00Z' }, { hold: true }])
      expect((await api.call(path, json('PATCH', body))).status).toBe(400);
    await api.call(path, json('PATCH', { expires_at: new Date(Date.now() - 1000).toISOString() }));
    await round();
    expect(await finished(hash)).toMatchObject({ reason: 'expiry', status: 'deleted' });
    expect(await keysOf(hash)).toEqual([]);
  });

  it('C29.17: a profile sets the expiry of a media at its first stream, unless a caller has set it', async () => {
    const brief = newHash();
    await stream(brief, { profile: 'brief' });
    const expiresAt = (await expiryOf(brief)) ?? '';
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    // Nor does a later stream move it.
    await stream(brief, { profile: 'brief' });
    expect(await expiryOf(brief)).toBe(expiresAt);
    const plain = newHash();
    await stream(plain);
    expect(await expiryOf(plain)).toBeNull();
    await api.call(`/api/media/${plain}`, json('PATCH', { expires_at: null }));
    await stream(plain, { profile: 'brief' });
    expect(await expiryOf(plain)).toBeNull();
  });

  it('C29.17: a job that failed or was cancelled sets no expiry of its media, and moves none', async () => {
    const brief = { 'x-profile': 'brief' };
    const [none, set] = [newHash(), newHash()];
    await stream(none);
    await stream(set, { profile: 'brief' });
    const before = await expiryOf(set);
    for (const hash of [none, set]) {
      const submission = { type: 'video:transcode', hash, source: 'a.mp4', options: { encrypt: true } };
      await api.fail((await api.submit(submission, brief)).json.job_id);
      const { json: cancelled } = await api.submit(submission, brief);
      expect((await api.call(`/api/jobs/${cancelled.job_id}/cancel`, { method: 'POST' })).status).toBe(200);
    }
    expect([await expiryOf(none), await expiryOf(set)]).toEqual([null, before]);
  });

  it('C29.8: a hold stops requests, expiry and retention, until it is ended', async () => {
    const hash = newHash();
    const [first] = [await stream(hash), await stream(hash)];
    const path = `/api/media/${hash}`;
    await api.call(path, json('PATCH', { legal_hold: true, expires_at: '2020-01-01T00:00:00Z' }));
    const refused = await api.call(path, { method: 'DELETE' });
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
    await round();
    expect((await api.call(path)).json.status).toBe('live');
    await query(
      `update jobs set swept_at = now(), finished_at = now() - interval '90 days',
      replaced_at = case when id = $2 then now() - interval '90 days' end where hash = $1`,
      [hash, first.jobId],
    );
    const before = await keysOf(hash);
    const retain = async () => {
      await query('update jobs set retention_after = null where hash = $1', [hash]);
      for (const task of retention()) await task.work(new AbortController().signal);
    };
    await retain();
    expect(await keysOf(hash)).toEqual(before);
    await api.call(path, json('PATCH', { legal_hold: false, expires_at: null }));
    // A job whose stream was removed is claimed again later.
    await retain();
    await retain();
    expect(await keysOf(hash)).toEqual([]);
    expect((await api.call(path)).status).toBe(404);
    expect((await query('select from media where hash = $1', [hash])).rowCount).toBe(0);
  });

  it('C29.8: a hold that begins while retention removes a job keeps what is left', async () => {
    const [streamed, still] = [newHash(), newHash()];
    await stream(streamed);
    await thumbnail(still);
    await query(`update jobs set swept_at = now(), finished_at = now() - interval '90 days' where hash = any($1)`, [
      [streamed, still],
    ]);
    const before = [await keysOf(streamed), await keysOf(still)];
    const { media } = api.d;
    const hold = async (key: string) => {
      const hash = [streamed, still].find((each) => key.includes(each));
      if (hash !== undefined) await api.call(`/api/media/${hash}`, json('PATCH', { legal_hold: true }));
    };
    const slow = mediaWith({
      list: async function* (prefix) {
        await hold(prefix);
        yield* media.list(prefix);
      },
    });
    for (const task of retention({ media: slow })) await task.work(new AbortController().signal);
    expect([await keysOf(streamed), await keysOf(still)]).toEqual(before);
    for (const hash of [streamed, still])
      expect((await query('select from jobs where hash = $1', [hash])).rowCount).toBe(1);
  });
});

describe('deletion', () => {
  it('C29.9: a deletion is accepted once, answers the same again, and is followed to its end', async () => {
    const hash = newHash();
    await stream(hash);
    const first = await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const again = await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    expect([first.status, again.status]).toEqual([202, 200]);
    expect(again.json.deletion_id).toBe(first.json.deletion_id);
    expect((await api.call(`/api/media/${hash}`)).json.status).toBe('deleting');
    expect(await finished(hash)).toMatchObject({ status: 'deleted', objects_total: 5, objects_left: 0 });
    expect((await api.call(`/api/media/${hash}`)).json).toMatchObject({ status: 'deleted', bytes: 0, revisions: [] });
    expect((await api.call(`/api/media/${hash}`, { method: 'DELETE' })).status).toBe(200);
  });

  it('C29.9: a media of many objects does not delay another for longer than its turn', async () => {
    const [large, small] = [newHash(), newHash()];
    await stream(large);
    await stream(small);
    for (let n = 0; n < 150; n++) {
      const key = videoKey(large, '0123456789abcdef', `video/t/seg_${n}.m4s`);
      await api.d.media.put(key, Buffer.alloc(1), { contentType: 'video/iso.segment' });
    }
    for (const hash of [large, small]) await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    await query(`update media_deletions set due_at = now() - interval '1 hour' where hash = $1`, [large]);
    await round(deletions({ turnMs: 0 }));
    const { rows } = await query(
      'select hash from media_deletions where hash = any($1) and finished_at is not null order by finished_at',
      [[large, small]],
    );
    expect(rows.map(({ hash }) => hash)).toEqual([small, large]);
    expect(await keysOf(large)).toEqual([]);
  });

  it('C29.10: the jobs are cancelled and the key is deleted once the request is answered', async () => {
    const hash = newHash();
    await stream(hash);
    const { kid } = await api.d.contentKeys.findOrCreate(hash);
    const running = (await api.submit({ type: 'video:cover', hash, source: 'a.mp4' })).json.job_id;
    await api.d.jobs.claim({ jobId: running, attempt: 1, owner: 'test', leaseMs: 60_000 });
    const { json: deletion } = await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    expect(deletion.kid).toBe(kid);
    expect((await query('select from content_keys where hash = $1', [hash])).rowCount).toBe(0);
    expect((await api.call(`/api/jobs/${running}`)).json.status).toBe('cancelled');
  });

  it('C29.10: a deletion changes nothing of another media: no job, result, key or object', async () => {
    const [doomed, other] = [newHash(), newHash()];
    const jobs: string[] = [];
    for (const hash of [doomed, other]) {
      await stream(hash);
      await api.d.contentKeys.findOrCreate(hash);
      for (const type of ['video:cover', 'video:preview'])
        jobs.push((await api.submit({ type, hash, source: 'a.mp4' })).json.job_id);
      await api.d.jobs.claim({ jobId: jobs.at(-1)!, attempt: 1, owner: 'test', leaseMs: 60_000 });
    }
    const tables = ['jobs', 'content_keys', 'media', 'media_deletions'];
    const all = async () => {
      const rows = tables.map((table) =>
        query(`select to_jsonb(${table}) from ${table} where hash = $1 order by 1`, [other]),
      );
      const files = api.call(`/api/media/${other}/files`);
      return { rows: (await Promise.all(rows)).map((each) => each.rows), files: (await files).json };
    };
    const before = await all();
    expect(before.rows.map(({ length }) => length)).toEqual([3, 1, 1, 0]);
    await api.call(`/api/media/${doomed}`, { method: 'DELETE' });
    await finished(doomed);
    const statuses = await Promise.all(jobs.map(async (id) => (await api.call(`/api/jobs/${id}`)).json.status));
    expect(statuses).toEqual(['cancelled', 'cancelled', 'queued', 'processing']);
    expect(await all()).toEqual(before);
    expect((await api.call(`/stream/${other}/master.m3u8`)).status).toBe(200);
  });

  it('C29.12: a deletion waits for what its last job may still write, and for no other job', async () => {
    const [hash, other] = [newHash(), newHash()];
    const { jobId } = await stream(hash);
    await stream(other);
    await query(`update jobs set created_at = now() - interval '2 hours' where hash = $1`, [other]);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const later = (await api.submit({ type: 'video:cover', hash, source: 'a.mp4' })).json.job_id;
    await api.call(`/api/jobs/${later}/cancel`, { method: 'POST' });
    await query(`update media_deletions set requested_at = now() - interval '1 hour' where hash = $1`, [hash]);
    const before = await keysOf(hash);
    const roundAfter = async (interval: string) => {
      await query(
        `update jobs set created_at = now() - interval '2 hours', finished_at = now() - $2::interval where id = $1`,
        [jobId, interval],
      );
      await query('update media_deletions set due_at = now() where hash = $1', [hash]);
      await round(deletions({ quietMs: 60_000 }));
    };
    await roundAfter('20 seconds');
    expect(await keysOf(hash)).toEqual(before);
    const { rows } = await query(
      `select due_at between now() + interval '30 seconds' and now() + interval '41 seconds' as is_later
       from media_deletions where hash = $1`,
      [hash],
    );
    expect(rows).toEqual([{ is_later: true }]);
    await roundAfter('61 seconds');
    expect((await api.call(`/api/media/${hash}/deletion`)).json.status).toBe('deleted');
    expect(await keysOf(hash)).toEqual([]);
  });

  it('C29.11: every address answers 410 within five seconds on each server, and after the end', async () => {
    const hash = newHash();
    const { rev } = await stream(hash);
    const image = await thumbnail(hash);
    await api.d.contentKeys.findOrCreate(hash);
    const { keyTokenSecret } = api.d.config;
    const token = signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
    const thumb = signThumbPath(image, {}, thumbSecretsOf([], keyTokenSecret)[0] ?? '');
    const headers = { authorization: `Bearer ${token}` };
    const below = `/stream/${hash}/${rev}/video/r64_h264`;
    const paths = [`/stream/${hash}/master.m3u8`, `${below}/seg_1.m4s`, `${below}/playlist.m3u8`, `/api/key/${hash}`];
    const other = await startApi({}, { ...api.d, clock: () => new Date() });
    const statuses = async () =>
      Promise.all(
        [api, other].flatMap((server) =>
          [...paths, `${below}/seg_9.m4s`, `/api/key/${hash}/clearkey`].map(async (path) => {
            const { status, headers: answered } = await server.raw(path, { headers });
            return status === 410 ? answered.get('cache-control') : status;
          }),
        ),
      );
    // Twice, so that all is in memory.
    for (let n = 0; n < 2; n++) for (const path of paths) expect((await api.raw(path, { headers })).status).toBe(200);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const startedAt = Date.now();
    await until(async () => (await statuses()).every((status) => status === 'no-store'));
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    expect((await api.raw(thumb)).status).toBe(410);
    await finished(hash);
    expect(new Set(await statuses())).toEqual(new Set(['no-store']));
    await other.app.close();
    // A server that has not known of it asks.
    await query(`update media_deletions set finished_at = now() - interval '2 hours' where hash = $1`, [hash]);
    const later = await startApi({}, { ...api.d, clock: () => new Date() });
    for (const path of paths) expect([path, (await later.raw(path, { headers })).status]).toEqual([path, 410]);
    await later.app.close();
  });

  it('C29.11: a request for a key that is read while its media is deleted answers 410', async () => {
    const hash = newHash();
    await stream(hash);
    await api.d.contentKeys.findOrCreate(hash);
    const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const contentKeys = new ContentKeyStore(api.d.database, { encryptionKeys: ['key of none'] });
    contentKeys.find = async (wanted) => {
      const found = await api.d.contentKeys.find(wanted);
      reached.resolve();
      await resumed.promise;
      return found;
    };
    const server = await startApi({}, { ...api.d, contentKeys });
    const token = signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 60 }, api.d.config.keyTokenSecret);
    const asked = server.raw(`/api/key/${hash}`, { headers: { authorization: `Bearer ${token}` } });
    await reached.promise;
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    await until(async () => (await server.raw(`/stream/${hash}/master.m3u8`)).status === 410);
    resumed.resolve();
    const { status, headers } = await asked;
    expect([status, headers.get('cache-control')]).toEqual([410, 'no-store']);
    await server.app.close();
    await finished(hash);
  });

  it('C29.12, C29.13: everything is removed, whatever was interrupted', async () => {
    const hash = newHash();
    const { jobId, rev } = await stream(hash);
    await thumbnail(hash);
    await api.putMedia(`cache/thumb/${masterKey(hash).split('/')[1]}/${hash}/x.webp`, 'x');
    await api.putMedia(`work/${jobId}/1/result.json`, '{}');
    const split = { v: 1, rev: rev.replace(/^./, 'f'), chunk_frames: [1], earlier: [] };
    await api.putMedia(`work/${jobId}/split.json`, JSON.stringify(split));
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    let tries = 0;
    const cut = () => {
      tries += 1;
      return Promise.reject(new Error('cut'));
    };
    await round(deletions({ media: mediaWith({ delete: cut }) }));
    expect(tries).toBe(1);
    const interrupted = (await api.call(`/api/media/${hash}/deletion`)).json;
    expect(interrupted).toMatchObject({ status: 'deleting', receipt: null });
    const [first = ''] = await keysOf(hash);
    expect((await keysOf(hash)).length).toBeGreaterThan(3);
    // As a deletion that is cut off after some of its objects.
    await api.d.media.delete([first]);
    await query('update media_deletions set due_at = now() where hash = $1', [hash]);
    expect((await finished(hash)).receipt.objects).toBe(interrupted.objects_total);
    expect(await keysOf(hash)).toEqual([]);
    const left: string[] = [];
    for await (const { key } of api.d.media.list(`work/${jobId}`)) left.push(key);
    expect(left).toEqual([]);
    const { rows } = await query('select results, results_expired, stream_rev from jobs where id = $1', [jobId]);
    expect(rows).toEqual([{ results: null, results_expired: true, stream_rev: null }]);
  });

  it('C29.10: no earlier revision of it is published again', async () => {
    const hash = newHash();
    const { rev } = await stream(hash);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const { status, json: problem } = await api.call(`/api/media/${hash}/current`, json('PUT', { revision: rev }));
    expect([status, problem.code]).toEqual([409, 'conflict']);
  });

  it('C29.12: a media whose jobs ended and were cleaned up long ago is deleted like any other', async () => {
    const hash = newHash();
    const { jobId } = await stream(hash);
    await query('update jobs set swept_at = now() where id = $1', [jobId]);
    // Deletions of other tests are no longer due.
    await query(`update media_deletions set due_at = now() + interval '1 hour' where finished_at is null`);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const soon = await api.d.deletions.claim(1);
    expect(soon).toMatchObject([{ hash, quietMs: expect.any(Number) as number }]);
    await query('update media_deletions set due_at = now() where finished_at is null');
    expect(await finished(hash)).toMatchObject({ status: 'deleted' });
  });

  it('C29.12: the results of more jobs than one statement takes are forgotten', async () => {
    const hash = newHash();
    const { jobId } = await stream(hash);
    const copy = `jsonb_build_object('id', gen_random_uuid(), 'idempotency_key', gen_random_uuid())`;
    await query(
      `insert into jobs select (jsonb_populate_record(jobs, ${copy})).* from jobs, generate_series(1, 501) where id = $1`,
      [jobId],
    );
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    await finished(hash);
    const { rowCount } = await query('select from jobs where hash = $1 and results is not null', [hash]);
    expect(rowCount).toBe(0);
  });

  it('C29.10: what began before the deletion became visible is cancelled, and a key that it made is deleted', async () => {
    const hash = newHash();
    await stream(hash);
    const { json: job } = await api.submit({ type: 'video:cover', hash, source: 'a.mp4' });
    await query(`update jobs set created_at = now() + interval '1 second' where id = $1`, [job.job_id]);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    await query(
      `update jobs set status = 'processing', phase = 'scheduling', lease_owner = 'worker', lease_expires_at = now() + interval '1 hour'
       where id = $1`,
      [job.job_id],
    );
    await expect(api.d.contentKeys.findOrCreate(hash)).rejects.toThrow('the media was deleted');
    await query(`insert into content_keys (hash, kid, envelope) values ($1, 'a kid', '{}')`, [hash]);
    await finished(hash);
    expect((await api.call(`/api/jobs/${job.job_id}`)).json.status).toBe('cancelled');
    expect(await api.d.contentKeys.find(hash)).toBeNull();
    // An attempt that was frozen until now.
    await expect(api.d.contentKeys.findOrCreate(hash)).rejects.toThrow('the media was deleted');
    expect(await api.d.contentKeys.find(hash)).toBeNull();
  });

  it('a receipt is kept as long as RECEIPT_RETENTION says, and addresses answer 404 after it', async () => {
    const [old, recent] = [newHash(), newHash()];
    for (const hash of [old, recent]) {
      await stream(hash);
      await api.call(`/api/media/${hash}`, { method: 'DELETE' });
      await finished(hash);
    }
    await query(`update media_deletions set finished_at = now() - interval '2 hours' where hash = $1`, [old]);
    await round(deletions({ receiptRetentionMs: 3_600_000 }));
    const answers = await Promise.all([old, recent].map((hash) => api.call(`/api/media/${hash}/deletion`)));
    expect(answers.map(({ status }) => status)).toEqual([404, 200]);
  });

  it('C29.12: an image that was being made when its media was deleted is not stored', async () => {
    const hash = newHash();
    const key = await thumbnail(hash);
    await api.putMedia(key, await red.webp().toBuffer());
    const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stored: string[] = [];
    const media = mediaWith({
      async download(wanted, ...options) {
        if (wanted === key) reached.resolve();
        if (wanted === key) await resumed.promise;
        return api.d.media.download(wanted, ...options);
      },
      async put(wanted, ...given) {
        stored.push(wanted);
        return api.d.media.put(wanted, ...given);
      },
    });
    const server = await startApi({}, { ...api.d, media });
    const path = signThumbPath(key, {}, thumbSecretsOf([], api.d.config.keyTokenSecret)[0] ?? '');
    const request = server.raw(path);
    await reached.promise;
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    resumed.resolve();
    await request;
    await finished(hash);
    await server.app.close();
    expect(stored).toEqual([]);
    expect(await keysOf(hash)).toEqual([]);
  });

  it.each(['master', 'objects'])(
    'C29.13: a worker that was frozen before it removed the %s removes nothing of what is made again',
    async (frozenAt) => {
      const hash = newHash();
      await stream(hash);
      await api.call(`/api/media/${hash}`, { method: 'DELETE' });
      const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const stop = async () => {
        reached.resolve();
        await resumed.promise;
      };
      let lists = 0;
      const media = mediaWith({
        // It was listed for the receipt before, folder by folder.
        async *list(prefix: string) {
          if (prefix === `videos/${masterKey(hash).split('/')[1]}/${hash}/` && (lists += 1) === 2) await stop();
          yield* api.d.media.list(prefix);
        },
      });
      const fence = new DeletionFence(api.d.database);
      const underLock = fence.underLock.bind(fence);
      if (frozenAt === 'master')
        fence.underLock = async (...given) => {
          await stop();
          return underLock(...given);
        };
      const late = round(deletions({ media, fence }));
      await reached.promise;
      await query('update media_deletions set due_at = now() where hash = $1', [hash]);
      await finished(hash);
      const { rev } = await stream(hash);
      const made = await keysOf(hash);
      expect(made).toEqual(expect.arrayContaining([masterKey(hash), videoKey(hash, rev, 'master.m3u8')]));
      resumed.resolve();
      await late;
      expect(await keysOf(hash)).toEqual(made);
    },
  );

  it('C29.14: the objects of a receipt are those that the first of two workers has found', async () => {
    const hash = newHash();
    await stream(hash);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const { deletion_id: id, objects_total: before } = (await api.call(`/api/media/${hash}/deletion`)).json;
    const late = { objects: 1, bytes: 1, sha256: 'b'.repeat(64) };
    await api.d.deletions.recordObjects(id, { objects: 5, bytes: 50, sha256: 'a'.repeat(64) });
    await api.d.deletions.recordObjects(id, late);
    const { objects_total: after } = (await api.call(`/api/media/${hash}/deletion`)).json;
    expect([before, after]).toEqual([null, 5]);
    expect((await finished(hash)).receipt).toMatchObject({ objects: 5, objects_sha256: 'a'.repeat(64) });
  });

  it('C29.14, C29.19: the receipt is signed over the canonical JSON of its fields and has the digest of the objects', async () => {
    const hash = newHash();
    await stream(hash);
    const { json: listed } = await api.call(`/api/media/${hash}/files`);
    const lines = listed.files.map(({ key, size, sha256 }: Record<string, string>) => `${key} ${size} ${sha256}\n`);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const { receipt, deletion_id: id } = await finished(hash);
    const { signature, ...fields } = receipt;
    const canonical = JSON.stringify(fields, Object.keys(fields).toSorted());
    const hmac = createHmac('sha256', receiptKey(webhookSecret));
    expect(signature).toBe(hmac.update(canonical).digest('hex'));
    expect(fields).toMatchObject({ v: 1, hash, deletion_id: id, objects: 5, kid: null });
    expect(fields.objects_sha256).toBe(createHash('sha256').update(lines.join('')).digest('hex'));
  });

  it('C29.15: a job that is submitted meanwhile waits, and makes a new media with a new key', async () => {
    const hash = newHash();
    const { rev } = await stream(hash);
    const before = await api.d.contentKeys.findOrCreate(hash);
    const secret = thumbSecretsOf([], api.d.config.keyTokenSecret)[0] ?? '';
    const image = await thumbnail(hash);
    await api.putMedia(image, await red.webp().toBuffer());
    const old = [`/stream/${hash}/${rev}/master.m3u8`, signThumbPath(image, {}, secret)];
    // From here on both are in memory.
    for (const path of old) expect((await api.raw(path)).status).toBe(200);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const { json: job } = await api.submit({ type: 'video:transcode', hash, source: 'a.mp4' });
    expect(await api.d.jobs.claim({ jobId: job.job_id, attempt: 1, owner: 'early', leaseMs: 1000 })).toBeNull();
    expect((await api.call(`/api/jobs/${job.job_id}`)).json.reason.code).toBe('media_deletion');
    await finished(hash);
    // It need not wait until its ticket is old.
    const tickets = await api.d.jobs.withoutTicket({ olderThanMs: 3_600_000, limit: 100 });
    expect(tickets.map(({ jobId }) => jobId)).toContain(job.job_id);
    await until(async () => (await api.call(`/stream/${hash}/master.m3u8`)).status === 410);
    const own = revisionOf(job.job_id, 1);
    await api.putMedia(masterKey(hash), `#EXTM3U\n${own}/video/r64_h264/playlist.m3u8\n`);
    const after = await api.d.contentKeys.findOrCreate(hash);
    expect(after.key.equals(before.key)).toBe(false);
    await api.complete(job.job_id, results(hash, own));
    await until(async () => (await api.call(`/stream/${hash}/master.m3u8`)).status === 200);
    expect((await api.call(`/api/media/${hash}`)).json).toMatchObject({ status: 'live', deletion: null, current: own });
    // Whether the media is deleted is remembered for a second.
    for (const path of old) await until(async () => (await api.raw(path)).status === 404);
    // The deletion has ended: neither a later round does it again, nor a process that was frozen before its end.
    const { json: media } = await api.call(`/api/media/${hash}`);
    await query(`update media_deletions set due_at = now() - interval '1 day' where hash = $1`, [hash]);
    await round();
    const { rows } = await query('select id from media_deletions where hash = $1', [hash]);
    expect(await api.d.deletions.finish({ id: rows[0]!.id, hash }, () => ({}) as never)).toBeNull();
    expect((await api.call(`/api/media/${hash}`)).json).toEqual(media);
    expect((await api.d.contentKeys.find(hash))?.key.equals(after.key)).toBe(true);
    expect((await api.call(`/api/jobs/${job.job_id}`)).json.status).toBe('completed');
    const { json: next } = await api.submit({ type: 'video:cover', hash, source: 'a.mp4' });
    await api.d.jobs.claim({ jobId: next.job_id, attempt: 1, owner: 'next', leaseMs: 60_000 });
    expect(await api.d.deletions.activeJobs(rows[0]!.id)).toEqual([]);
    expect((await api.call(`/api/jobs/${next.job_id}/cancel`, { method: 'POST' })).status).toBe(200);
    expect((await api.call(`/api/media/${hash}`, json('PATCH', { expires_at: null }))).status).toBe(200);
    await api.putMedia(videoKey(hash, own, 'master.m3u8'), '#EXTM3U\nvideo/r64_h264/playlist.m3u8\n');
    expect((await api.call(`/api/media/${hash}/current`, json('PUT', { revision: own }))).status).toBe(200);
  });

  it('C29.16: the purge hook gets the paths as a webhook without a job', async () => {
    const hash = newHash();
    await stream(hash);
    const purging = await startApi(
      {},
      { ...api.d, config: { ...api.d.config, purgeHookUrl: 'http://cdn.internal/purge' } },
    );
    await purging.call(`/api/media/${hash}`, { method: 'DELETE' });
    const { rows } = await query(
      'select url, body, next_attempt_at - now() as waits from webhook_events where job_id is null',
    );
    expect(rows).toHaveLength(1);
    // A CDN that is purged earlier could get the media once more from a server that has not heard of it.
    expect(rows[0].waits.seconds).toBeGreaterThan(5);
    expect(rows[0].url).toBe('http://cdn.internal/purge');
    const body = JSON.parse(rows[0].body);
    expect(body).toMatchObject({ event: 'media.purge', hash });
    expect(body.paths).toContain(`/stream/${hash}/*`);
    const encoded = Buffer.from(imageKey(hash, '0'.repeat(16), { variant: 'a', format: 'jpg' })).toString('base64url');
    const starts = body.paths
      .filter((path: string) => path.startsWith('/thumb/*/'))
      .map((path: string) => path.slice(9, -1));
    expect(starts.some((start: string) => encoded.startsWith(start))).toBe(true);
    await purging.app.close();
  });
});
