import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { imageKey, masterKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { DueWorkStore } from '#platform/postgres/due-work.ts';
import type { NewJob } from '#platform/postgres/job-row.ts';
import { oldRowsTasks } from '../../controller/upkeep/old-rows.ts';
import { type RetentionDependencies, retentionTasks } from '../../controller/upkeep/retention.ts';
import { openRig, type Rig } from '../../testing/controller-rig.ts';

const dayMs = 24 * 60 * 60_000;
const hash = 'video';
const contentType = 'application/octet-stream';

const initIn = (rev: string) => videoKey(hash, rev, 'video/r64_h264/init.mp4');
const initOf = (id: string) => initIn(revisionOf(id, 1));
const streamIn = (rev: string) => ({
  streaming: { protocol: 'hls', master_playlist: masterKey(hash) },
  video_tracks: [{ init: initIn(rev) }],
});

describe.skipIf(!inject('postgres'))('retention', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig.close();
  });

  const query = (sql: string, parameters: readonly unknown[] = []) => rig.database.pool.query(sql, [...parameters]);
  const put = (key: string, body = 'x') => rig.media.put(key, body, { contentType });
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of rig.media.list('')) found.push(key);
    return found.toSorted();
  };

  const submit = (more: Partial<NewJob> = {}) =>
    rig.submit('ok', { ticket: false, type: 'video:transcode', hash, idempotencyKey: randomUUID(), ...more });

  /** Ends a job that was submitted and ended some days ago and was cleaned up. */
  async function end(id: string, daysAgo: number, results: object, status: 'completed' | 'failed' = 'completed') {
    const age = `now() - $2 * interval '1 day'`;
    await query(`update jobs set created_at = ${age} where id = $1`, [id, daysAgo]);
    await rig.jobs.claim({ jobId: id, attempt: 1, owner: 'the test', leaseMs: 60_000 });
    const final = { jobId: id, attempt: 1, status, results: results as JobResults, error: null, eventId: randomUUID() };
    await rig.jobs.finish(final);
    const replaced = `(select now() - interval '1 hour' where replaced_at is not null)`;
    await query(`update jobs set swept_at = now(), finished_at = ${age}, replaced_at = ${replaced} where id = $1`, [
      id,
      daysAgo,
    ]);
    // It replaced earlier streams when it ended.
    await query(
      `update jobs set replaced_at = ${age} from (select created_at, stream_rev from jobs where id = $1) as this
       where hash = $3 and jobs.created_at < this.created_at and this.stream_rev is not null
         and replaced_at > ${age}`,
      [id, daysAgo, hash],
    );
  }

  /** A completed job with a stream of its own. */
  async function ended(daysAgo: number, more: Partial<NewJob> = {}) {
    const id = await submit(more);
    await end(id, daysAgo, streamIn(revisionOf(id, 1)));
    await put(initOf(id));
    return id;
  }

  const publish = (rev: string) => put(masterKey(hash), `#EXTM3U\n${rev}/video/r64_h264/playlist.m3u8\n`);
  const publishOf = (id: string) => publish(revisionOf(id, 1));

  type Times = Partial<Pick<RetentionDependencies, 'jobRetentionMs' | 'revisionRetentionMs'>>;

  /** One round of each task. */
  async function run(times: Times) {
    const dependencies = { ...rig, jobRetentionMs: null, revisionRetentionMs: null, ...times };
    for (const task of retentionTasks(dependencies)) await task.work(new AbortController().signal);
  }

  describe('retention of replaced streams', () => {
    it('C13.28, C17.4: the revision of a replaced stream is removed after REVISION_RETENTION, and the current one stays', async () => {
      const [first, second, third] = [await ended(30), await ended(10), await ended(2)];
      await publishOf(third);
      await run({ revisionRetentionMs: 7 * dayMs });
      // The third replaced the second two days ago alone.
      expect(await keys()).toEqual([initOf(second), initOf(third), masterKey(hash)].toSorted());
      expect(await rig.find(first)).toMatchObject({ status: 'completed', resultsExpired: true });
      expect(await rig.find(second)).toMatchObject({ resultsExpired: false });
      // What is removed is never looked at again.
      await query(`update jobs set retention_after = now() - interval '30 days' where id = $1`, [first]);
      expect(await rig.retention.claimReplaced({ retentionMs: 7 * dayMs, limit: 10 })).toEqual([]);
    });

    it('C13.28: a request equal to a job whose stream was removed makes a new job', async () => {
      const idempotencyKey = randomUUID();
      const first = await ended(30, { idempotencyKey });
      await publishOf(await ended(20));
      await run({ revisionRetentionMs: dayMs });
      expect(await submit({ idempotencyKey })).not.toBe(first);
    });

    it('the revision that the top master playlist names is never removed', async () => {
      const [first, second] = [await ended(30), await ended(20)];
      await publishOf(first);
      await run({ revisionRetentionMs: dayMs });
      expect(await keys()).toEqual([initOf(first), initOf(second), masterKey(hash)].toSorted());
      expect(await rig.find(first)).toMatchObject({ resultsExpired: false });
    });

    it('a stream of an earlier submission that ends after its successor was examined is removed as well', async () => {
      const late = await submit();
      await query(`update jobs set created_at = now() - interval '30 days' where id = $1`, [late]);
      const successor = await ended(20);
      await publishOf(successor);
      await run({ revisionRetentionMs: dayMs });
      await put(initOf(late));
      await end(late, 30, streamIn(revisionOf(late, 1)));
      await query(`update jobs set replaced_at = now() - interval '2 days' where id = $1 and replaced_at is not null`, [
        late,
      ]);
      await run({ revisionRetentionMs: dayMs });
      expect(await keys()).toEqual([initOf(successor), masterKey(hash)].toSorted());
    });

    it('the cover and the preview of an older video:full stay with their digests, whatever replaces its stream', async () => {
      const full = await submit({ type: 'video:full' });
      const images = ['cover.jpg', 'preview.webp'].map((path) => videoKey(hash, revisionOf(full, 1), path));
      images.push(videoKey(hash, revisionOf(full, 1), 'SHA256SUMS'));
      for (const key of [initOf(full), ...images]) await put(key);
      const artifacts = { cover: { key: images[0] }, preview: { key: images[1] } };
      await end(full, 30, { ...streamIn(revisionOf(full, 1)), artifacts });
      const newer = await ended(20);
      await publishOf(newer);
      await run({ revisionRetentionMs: dayMs });
      expect(await keys()).toEqual([...images, initOf(newer), masterKey(hash)].toSorted());
    });

    it('a revision that several jobs share is removed when the last of them was replaced long enough ago', async () => {
      const shared = '0123456789abcdef';
      const [first, second] = [await submit(), await submit()];
      await end(first, 30, streamIn(shared));
      await end(second, 20, streamIn(shared));
      await put(initIn(shared));
      await publishOf(await ended(10));
      await run({ revisionRetentionMs: 15 * dayMs });
      expect(await keys()).toContain(initIn(shared));
      await query('update jobs set retention_after = null');
      await run({ revisionRetentionMs: 5 * dayMs });
      expect(await keys()).not.toContain(initIn(shared));
    });

    it('a revision that is published between two pages of its removal keeps the rest of its objects', async () => {
      const [shared, segments] = ['0123456789abcdef', 2_500];
      const old = await submit();
      await end(old, 30, streamIn(shared));
      await ended(20);
      for (let n = 0; n < segments; n++) await put(videoKey(hash, shared, `video/r64_h264/seg_${n}.m4s`));
      const remove = rig.media.delete.bind(rig.media);
      let pages = 0;
      rig.media.delete = async (doomed) => {
        await remove(doomed);
        // As by a worker that publishes while this one is frozen.
        if ((pages += 1) === 1) await publish(shared);
      };
      await run({ revisionRetentionMs: dayMs });
      expect((await keys()).filter((key) => key.includes(shared)).length).toBe(segments - 1_000);
    });
  });

  describe('retention of jobs', () => {
    it('a job is deleted with its webhook events after JOB_RETENTION, but not before its webhook is delivered', async () => {
      const old = await ended(30, { callbackUrl: 'https://hooks.example/' });
      const pending = await ended(30, { callbackUrl: 'https://hooks.example/' });
      const recent = await ended(1);
      await query(`update jobs set callback_status = 'sent' where id = $1`, [old]);
      await query('update jobs set retry_of_job_id = $1 where id = $2', [old, recent]);
      await run({ jobRetentionMs: 7 * dayMs });
      expect(await rig.jobs.find(old)).toBeNull();
      expect(await rig.find(pending)).toMatchObject({ callbackStatus: 'pending', resultsExpired: false });
      expect(await rig.find(recent)).toMatchObject({ retryOfJobId: null });
      expect((await query('select job_id from webhook_events')).rows).toEqual([{ job_id: pending }]);
    });

    it('purges of deleted media are deleted a month after they ended, and not before they are delivered', async () => {
      const insert = `
        insert into webhook_events (id, url, body, next_attempt_at, created_at)
        select gen_random_uuid(), name, '{}', case when name = 'due' then now() end, now() - days * interval '1 day'
        from (values ('due', 40), ('recent', 29)) as others (name, days)
        union all select gen_random_uuid(), 'old', '{}', null, now() - interval '31 days' from generate_series(1, 101)`;
      await query(insert);
      const tasks = oldRowsTasks({ dueWork: new DueWorkStore(rig.database) });
      for (const task of tasks) await task.work(new AbortController().signal);
      expect((await query('select url from webhook_events order by url')).rows).toEqual([
        { url: 'due' },
        { url: 'recent' },
      ]);
      await query('delete from webhook_events');
    });

    it('no row is deleted of a job that has not ended, is held, or whose webhook is sent again meanwhile', async () => {
      const [running, pending, old] = [await submit(), await ended(30), await ended(30)];
      const [held, further, sent] = [await ended(30, { hash: 'held' }), await ended(30), await ended(30)];
      await query(`update jobs set callback_status = 'pending' where id = $1`, [pending]);
      await query(`update media set legal_hold = true where hash = 'held'`);
      await query(
        `insert into webhook_events (id, job_id, url, body, next_attempt_at, is_additional)
         values (gen_random_uuid(), $1, 'https://example.com', '{}', now(), true),
           (gen_random_uuid(), $2, 'https://example.com', '{}', null, true)`,
        [further, sent],
      );
      await rig.retention.deleteJobs([running, pending, old, held, further, sent]);
      const { rows } = await query('select id from jobs');
      expect(rows.map(({ id }) => id as string).toSorted()).toEqual([running, pending, held, further].toSorted());
    });

    it('C13.28: a hold that begins while a job is being removed keeps its results, which have not expired', async () => {
      const [held, other] = [await ended(30, { hash: 'held-late' }), await ended(30)];
      const claimed = await rig.retention.claimOld({ retentionMs: 7 * dayMs, limit: 10 });
      expect(claimed.map(({ jobId }) => jobId).toSorted()).toEqual([held, other].toSorted());
      await query(`update media set legal_hold = true where hash = 'held-late'`);
      await rig.retention.deleteJobs([held, other]);
      expect((await query('select id, results_expired from jobs')).rows).toEqual([
        { id: held, results_expired: false },
      ]);
    });

    it('JOB_RETENTION takes the images, the replaced streams and the last stream of a hash with their rows', async () => {
      const image = await submit({ type: 'image:thumbnail' });
      const variant = imageKey(hash, revisionOf(image, 1), { variant: 'thumb', format: 'webp' });
      await put(variant);
      await end(image, 30, { key: variant });
      const cover = await submit({ type: 'video:cover' });
      await put(videoKey(hash, revisionOf(cover, 1), 'cover.jpg'));
      await end(cover, 30, { key: videoKey(hash, revisionOf(cover, 1), 'cover.jpg') });
      const [, last] = [await ended(30), await ended(20)];
      await publishOf(last);
      // Shorter than the retention of revisions, or without one.
      await run({ jobRetentionMs: 7 * dayMs, revisionRetentionMs: 9 * dayMs });
      expect(await keys()).toEqual([]);
      expect((await query('select from jobs')).rowCount).toBe(0);
    });

    it('the stream of an old job that a recent job shares stays with its master playlist', async () => {
      const shared = '0123456789abcdef';
      const [old, recent] = [await submit(), await submit()];
      await end(old, 30, streamIn(shared));
      await end(recent, 1, streamIn(shared));
      await put(initIn(shared));
      await publish(shared);
      await run({ jobRetentionMs: 7 * dayMs });
      expect(await rig.jobs.find(old)).toBeNull();
      expect(await keys()).toEqual([initIn(shared), masterKey(hash)].toSorted());
    });

    it('a stream of several chunks goes with its old job: neither another stream nor an expired job keeps it', async () => {
      const shared = '0123456789abcdef';
      const [old, replaced] = [await submit(), await ended(2)];
      await end(old, 30, streamIn(shared));
      const [first, second] = [await submit(), await submit()];
      for (const id of [first, second]) await end(id, 3, streamIn(shared));
      const last = await ended(1);
      await put(initIn(shared));
      await query(
        `update jobs set results_expired = true, replaced_at = case when id = $1 then now() end where id in ($1, $2)`,
        [first, second],
      );
      await run({ jobRetentionMs: 7 * dayMs });
      expect(await rig.jobs.find(old)).toBeNull();
      expect(await keys()).toEqual([initOf(replaced), initOf(last)].toSorted());
    });

    it('the stream of an old job stays while a job of the same source may go on with it', async () => {
      const shared = '0123456789abcdef';
      const old = await submit();
      await end(old, 30, streamIn(shared));
      await put(initIn(shared));
      await submit();
      await run({ jobRetentionMs: 7 * dayMs });
      expect(await keys()).toEqual([initIn(shared)]);
    });

    it('a job with a stream is kept while an earlier submission of its hash runs, which must not replace it', async () => {
      const running = await submit();
      await query(`update jobs set created_at = now() - interval '40 days' where id = $1`, [running]);
      const old = await ended(30);
      await run({ jobRetentionMs: 7 * dayMs });
      expect(await rig.find(old)).toMatchObject({ resultsExpired: false });
    });

    it('a job whose objects cannot be removed delays no other, and is due again later', async () => {
      const bad = await ended(40);
      for (let n = 0; n < 120; n++) await ended(30, { hash: `h${n}`, type: 'video:cover' });
      const remove = rig.media.delete.bind(rig.media);
      rig.media.delete = (doomed) =>
        doomed.includes(initOf(bad)) ? Promise.reject(new Error('object locked')) : remove(doomed);
      await run({ jobRetentionMs: 7 * dayMs });
      const { rows } = await query(
        `select id, results_expired, idempotency_key = 'expired ' || id as is_free,
           retention_after > now() - interval '7 days' as is_later from jobs`,
      );
      // An equal submission makes a new job in place of what is half removed.
      expect(rows).toEqual([{ id: bad, results_expired: true, is_free: true, is_later: true }]);
    });
  });

  it('C17.4: without retention times nothing is removed', async () => {
    const [first, second] = [await ended(300), await ended(200)];
    await run({});
    expect(await keys()).toEqual([initOf(first), initOf(second)].toSorted());
    expect(await rig.find(first)).toMatchObject({ status: 'completed' });
  });
});
