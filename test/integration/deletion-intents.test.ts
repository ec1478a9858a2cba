import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deleteMedia, type DeleteMediaDependencies } from '#jobs/delete-media.ts';
import { chunkResultKey, splitKey, videoKey } from '#domain/media/object-keys.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import type { Database } from '#platform/postgres/database.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { cleanupTask } from '../../controller/upkeep/cleanup.ts';
import { mediaDeletionTask } from '../../controller/upkeep/media-deletion.ts';
import { secrets } from '../../testing/programs.ts';
import { openRolloutRig, type RolloutRig } from '../../testing/rollout-rig.ts';

// What a `DELETE` that was answered holds (docs/reference/contract.md, "Deletion"), whoever else acts on the media.

describe.skipIf(!inject('postgres'))('a deletion and what comes after it', () => {
  let rig: RolloutRig;
  let d: DeleteMediaDependencies & { readonly deletions: MediaDeletionStore };
  let keys: ContentKeyStore;
  let count = 0;
  beforeAll(async () => {
    rig = await openRolloutRig();
    d = { ...rig.d, deletions: new MediaDeletionStore(rig.database), purgeHookUrl: 'http://cdn.example/' };
    keys = new ContentKeyStore(rig.database, { encryptionKeys: [secrets.ENCRYPTION_KEY] });
  });
  afterAll(() => rig.close());

  const made = { bytes: 900 };
  const remove = (hash: string) => deleteMedia(d, { hash, reason: 'request' });
  const status = async (id: string) => (await rig.d.jobs.find(id))?.status;
  const work = () => mediaDeletionTask(dependencies()).work(new AbortController().signal);
  const dependencies = () => ({
    ...rig.d,
    ...d,
    fence: new DeletionFence(rig.database),
    webhookSecret: 'secret',
    receiptRetentionMs: null,
    quietMs: 0,
  });

  /** Rounds until no deletion is left. */
  async function settle(): Promise<void> {
    for (let left = 100; left > 0; left--) {
      await rig.query(`update media_deletions set due_at = now() where finished_at is null`);
      await work();
      if ((await rig.query('select from media_deletions where finished_at is null')).length === 0) return;
    }
    throw new Error('a deletion does not end');
  }

  /** A media that was made, and what it plays. */
  async function media(): Promise<string> {
    const hash = `deleted${count++}`;
    await rig.end((await rig.submit(hash)).id, made);
    await keys.findOrCreate(hash);
    return hash;
  }

  /** Nothing that was accepted plays, and no key of it is stored. */
  async function expectNothing(hash: string): Promise<void> {
    await settle();
    expect(await rig.query('select id from jobs where hash = $1 and finished_at is null', [hash])).toEqual([]);
    expect([await rig.playedRev(hash), await keys.find(hash)]).toEqual(['', null]);
    expect(await new DeletedMediaStore(rig.database).isDeleted(hash)).toBe(true);
  }

  /** Holds the lock of the hash, as a publication does, until the returned function is called. */
  async function lock(hash: string): Promise<() => Promise<void>> {
    const client = await rig.database.pool.connect();
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [hash]);
    return async () => {
      await client.query('rollback');
      client.release();
    };
  }

  /** Keys that announce their first look, and wait before they go on. */
  function keysBehind(announce: () => void, until: Promise<void>): ContentKeyStore {
    let looks = 0;
    const query = async (text: string, values: unknown[]) => {
      const answer = await rig.database.pool.query(text, values);
      if (looks++ > 0) return answer;
      announce();
      await until;
      return answer;
    };
    const database = { ...rig.database, pool: { query } as unknown as Database['pool'] };
    return new ContentKeyStore(database, { encryptionKeys: [secrets.ENCRYPTION_KEY] });
  }

  const isWaiting = () =>
    rig.query(`select from pg_locks where locktype = 'advisory' and not granted and database = (
      select oid from pg_database where datname = current_database())`);

  it('C29.9: after a deletion that has ended, another covers what was submitted since, and what runs does not play', async () => {
    const hash = await media();
    const first = await remove(hash);
    await settle();
    const later = await rig.submit(hash, { source: 'b.mp4' });
    await rig.d.jobs.claim({ jobId: later.id, attempt: 1, owner: 'w', leaseMs: 60_000 });
    await keys.findOrCreate(hash);
    const second = await remove(hash);
    expect([second.isNew, second.deletion.id === first.deletion.id]).toEqual([true, false]);
    expect([await status(later.id), await keys.find(hash)]).toEqual(['cancelled', null]);
    expect(await rig.end(later.id, made)).toBe('');
    await expectNothing(hash);
    expect((await remove(hash)).isNew).toBe(false);
  });

  it('C29.9: a deletion that runs covers what was submitted before it was asked for again, and nothing later', async () => {
    const hash = await media();
    const { deletion } = await remove(hash);
    const between = await rig.submit(hash, { source: 'b.mp4' });
    const again = await remove(hash);
    expect([again.isNew, again.deletion.id]).toEqual([false, deletion.id]);
    expect(again.deletion.requestedAt.getTime()).toBeGreaterThan(deletion.requestedAt.getTime());
    expect(await status(between.id)).toBe('cancelled');
    const later = await rig.submit(hash, { source: 'c.mp4' });
    await settle();
    expect(await status(later.id)).toBe('queued');
    expect(await rig.end(later.id, made)).toBe(await rig.playedRev(hash));
  });

  it('C29.9: a deletion does not end while a job that it covers has not, so that a crash before its cancellation leaves no job', async () => {
    const hash = await media();
    await remove(hash);
    const between = await rig.submit(hash, { source: 'b.mp4' });
    // The worker has looked for jobs already; the server dies before it cancels any.
    let isAskedAgain = false;
    const activeJobs = async (id: string) => {
      const jobs = await d.deletions.activeJobs(id);
      if (!isAskedAgain) await d.deletions.begin({ id: randomUUID(), hash, reason: 'request', purge: null });
      isAskedAgain = true;
      return jobs;
    };
    const deletions = new Proxy(d.deletions, {
      get(store, name: keyof MediaDeletionStore) {
        return name === 'activeJobs' ? activeJobs : store[name].bind(store);
      },
    });
    await mediaDeletionTask({ ...dependencies(), deletions }).work(new AbortController().signal);
    expect(await status(between.id)).toBe('queued');
    await expectNothing(hash);
    expect(await status(between.id)).toBe('cancelled');
  });

  it('C29.10: a key that a failed job has left after a deletion is destroyed by the next one', async () => {
    const hash = await media();
    await remove(hash);
    await settle();
    const later = await rig.submit(hash, { source: 'b.mp4' });
    await keys.findOrCreate(hash);
    await rig.end(later.id, null);
    expect((await remove(hash)).isNew).toBe(true);
    expect(await keys.find(hash)).toBeNull();
    await expectNothing(hash);
    await rig.query('update jobs set swept_at = now() where hash = $1', [hash]);
    expect((await remove(hash)).isNew).toBe(false);
  });

  it('C29.9: a job that was being inserted while a deletion began and ended is covered by the next one', async () => {
    const hash = await media();
    const inserting = await rig.database.pool.connect();
    await inserting.query('begin');
    const late = randomUUID();
    // As a retry that waits for a lock: the time of its row is the one at which its transaction began.
    await inserting.query(
      `insert into jobs (id, type, hash, source, options, idempotency_key, queue)
       select $1, type, hash, 'late.mp4', options, 'late ' || hash, queue from jobs where hash = $2`,
      [late, hash],
    );
    await remove(hash);
    await settle();
    await inserting.query('commit');
    inserting.release();
    const { isNew } = await remove(hash);
    expect([isNew, await status(late)]).toEqual([true, 'cancelled']);
    await expectNothing(hash);
  });

  it('C29.10: a key that waits for a deletion which destroys another one is not made', async () => {
    const hash = `deleted${count++}`;
    const { id } = await rig.submit(hash);
    await rig.d.jobs.claim({ jobId: id, attempt: 1, owner: 'w', leaseMs: 60_000 });
    // Both attempts have found no key; the other one makes it meanwhile.
    const [found, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = keysBehind(found.resolve, other.promise).findOrCreate(hash);
    await found.promise;
    await keys.findOrCreate(hash);
    const deleting = await rig.database.pool.connect();
    await deleting.query('begin');
    await deleting.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [hash]);
    await deleting.query('delete from content_keys where hash = $1', [hash]);
    await deleting.query(
      `insert into media_deletions (id, hash, reason, requested_at, due_at)
       values (gen_random_uuid(), $1, 'request', clock_timestamp(), clock_timestamp())`,
      [hash],
    );
    const outcome = late.then(
      () => 'made',
      () => 'refused',
    );
    other.resolve();
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => rig.query(waits)).toHaveLength(1);
    await deleting.query('commit');
    deleting.release();
    expect([await outcome, await keys.find(hash)]).toEqual(['refused', null]);
    await remove(hash);
    await expectNothing(hash);
  });

  it('C29.9: many deletions at once are one', async () => {
    const hash = await media();
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove(hash)));
    expect(new Set(answers.map(({ deletion }) => deletion.id)).size).toBe(1);
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    await expectNothing(hash);
  });

  it('C29.10: equal submissions meanwhile make new jobs, however many jobs the media has', async () => {
    const hash = await media();
    const requests = Array.from({ length: 130 }, (_, index) => ({ source: `${index}.mp4` }));
    const jobs = await Promise.all(requests.map((request) => rig.submit(hash, request)));
    await rig.query(`update jobs set status = 'completed', finished_at = now() where id = any($1)`, [
      jobs.map(({ id }) => id),
    ]);
    await remove(hash);
    const again = await Promise.all(requests.map((request) => rig.submit(hash, request)));
    expect(new Set([...jobs, ...again].map(({ id }) => id)).size).toBe(260);
    await rig.query(`update jobs set status = 'cancelled', finished_at = now() where id = any($1)`, [
      again.map(({ id }) => id),
    ]);
  });

  it.each([
    ['a later time', { expiresAt: new Date(Date.now() + 3_600_000) }],
    ['no time', { expiresAt: null }],
    ['a hold', { legalHold: true }],
  ])('C29.7: a media that was given %s after it was found expired is not deleted', async (_, change) => {
    const hashes = [await media(), await media()];
    await rig.query(`update media set expires_at = now() - interval '1 s' where hash = any($1)`, [hashes]);
    const release = await lock(hashes[0]!);
    const round = work();
    await expect.poll(isWaiting).toHaveLength(1);
    expect(await rig.d.library.change(hashes[1]!, change)).toBe(true);
    await release();
    await round;
    const isDeleted = (hash: string) => new DeletedMediaStore(rig.database).isDeleted(hash);
    expect(await Promise.all(hashes.map(isDeleted))).toEqual([true, false]);
    expect(await keys.find(hashes[1]!)).not.toBeNull();
  });

  it('C29.11: the times of a deletion that waited for a publication begin when it has the lock', async () => {
    const hash = await media();
    const release = await lock(hash);
    const deleting = remove(hash);
    await expect.poll(isWaiting).toHaveLength(1);
    await sleep(1_500);
    await release();
    const { deletion } = await deleting;
    const [times] = await rig.query<{ age: number; purge: number }>(
      `select extract(epoch from clock_timestamp() - requested_at)::float8 as age, (
         select extract(epoch from next_attempt_at - requested_at)::float8 from webhook_events where job_id is null
           and body like '%' || $2 || '"%' order by created_at desc limit 1) as purge
       from media_deletions where id = $1`,
      [deletion.id, hash],
    );
    expect(times?.age).toBeLessThan(1.4);
    expect(times?.purge).toBeCloseTo(8, 0);
  });

  it('C29.11: a deletion whose transaction took a minute to end is among those that changed', async () => {
    const hash = await media();
    await rig.query(
      `insert into media_deletions (id, hash, reason, requested_at)
       values (gen_random_uuid(), $1, 'request', now() - interval '62 s')`,
      [hash],
    );
    const changed = await new DeletedMediaStore(rig.database).changed(100);
    expect(changed.find((each) => each.hash === hash)).toEqual({ hash, isDeleted: true });
  });

  it('C29.13: what a frozen worker writes after the end of a deletion is removed by cleanup', async () => {
    const { media: bucket } = rig.d;
    const hash = await media();
    const { id } = await rig.submit(hash, { source: 'chunked.mp4' });
    await rig.d.jobs.claim({ jobId: id, attempt: 1, owner: 'frozen', leaseMs: 60_000 });
    const rev = 'c0ffee00c0ffee00';
    const put = (key: string, text: string) => bucket.put(key, text, { contentType: 'text/plain' });
    await put(splitKey(id), JSON.stringify({ v: 1, rev, chunk_frames: [150] }));
    await remove(hash);
    await settle();
    const late = [videoKey(hash, rev, 'video/r360_h264/seg_1.m4s'), chunkResultKey(rev, 0)];
    for (const key of late) await put(key, 'late');
    const cleanup = new CleanupStore(rig.database);
    await cleanupTask({ ...dependencies(), cleanup, graceMs: 0 }).work(new AbortController().signal);
    expect(await Promise.all(late.map((key) => bucket.head(key)))).toEqual([null, null]);
    expect((await rig.query('select swept_at from jobs where id = $1', [id]))[0]).toMatchObject({
      swept_at: expect.any(Date) as Date,
    });
  });
});
