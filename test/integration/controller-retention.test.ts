import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { masterKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { retentionComponent } from '../../controller/retention.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

const dayMs = 24 * 60 * 60_000;

const initOf = (id: string) => videoKey('film', revisionOf(id, 1), 'video/r64_h264/init.mp4');

describe.skipIf(!inject('postgres'))('retention', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig.close();
  });

  const query = (sql: string, parameters: readonly unknown[] = []) => rig.database.pool.query(sql, [...parameters]);
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of rig.media.list('')) found.push(key);
    return found.toSorted();
  };

  /** A completed job that ended so many days ago, cleaned up already. */
  async function ended(daysAgo: number, more: { callbackUrl?: string } = {}) {
    const distinct = { hash: 'film', idempotencyKey: randomUUID() };
    const id = await rig.submit('ok', { ticket: false, type: 'video:transcode', ...distinct, ...more });
    const results = { streaming: { protocol: 'hls' } } as unknown as JobResults;
    await rig.jobs.claim({ jobId: id, attempt: 1, owner: 'the test', leaseMs: 60_000 });
    await rig.jobs.finish({ jobId: id, attempt: 1, status: 'completed', results, error: null, eventId: randomUUID() });
    const age = `now() - $2 * interval '1 day'`;
    await query(`update jobs set swept_at = now(), created_at = ${age}, finished_at = ${age} where id = $1`, [
      id,
      daysAgo,
    ]);
    await rig.media.put(initOf(id), 'x', { contentType: 'video/mp4' });
    return id;
  }

  const publish = (id: string) =>
    rig.media.put(masterKey('film'), `#EXTM3U\n${revisionOf(id, 1)}/video/r64_h264/playlist.m3u8\n`, {
      contentType: 'application/vnd.apple.mpegurl',
    });

  async function run(
    retentions: { jobRetentionMs?: number; revisionRetentionMs?: number },
    isDone: () => Promise<boolean>,
  ) {
    const times = { jobRetentionMs: null, revisionRetentionMs: null, ...retentions };
    const component = retentionComponent({ ...rig, ...times, everyMs: 60_000 });
    await component.start();
    await until(isDone, (done) => done);
    await component.stop(AbortSignal.timeout(1_000));
  }

  it('the revision of a replaced stream is removed after REVISION_RETENTION, and the current one stays', async () => {
    const [first, second, third] = [await ended(30), await ended(10), await ended(2)];
    await publish(third);
    const isLeft = async () => !(await keys()).includes(initOf(first));
    await run({ revisionRetentionMs: 7 * dayMs }, isLeft);
    // The third replaced the second two days ago alone.
    expect(await keys()).toEqual([initOf(second), initOf(third), masterKey('film')].toSorted());
  });

  it('the revision that the top master playlist names is never removed', async () => {
    const [first, second] = [await ended(30), await ended(20)];
    await publish(first);
    const checked = 'select 1 from jobs where earlier_removed_at is not null';
    await run({ revisionRetentionMs: dayMs }, async () => (await query(checked)).rowCount === 2);
    expect(await keys()).toEqual([initOf(first), initOf(second), masterKey('film')].toSorted());
  });

  it('a job is deleted with its webhook events after JOB_RETENTION, but not before its webhook is delivered', async () => {
    const old = await ended(30, { callbackUrl: 'https://hooks.example/' });
    const pending = await ended(30, { callbackUrl: 'https://hooks.example/' });
    const recent = await ended(1);
    await query(`update jobs set callback_status = 'sent' where id = $1`, [old]);
    await query('update jobs set retry_of_job_id = $1 where id = $2', [old, recent]);
    const isDeleted = async () => (await rig.jobs.find(old)) === null;
    await run({ jobRetentionMs: 7 * dayMs }, isDeleted);
    expect(await rig.find(pending)).toMatchObject({ callbackStatus: 'pending' });
    expect(await rig.find(recent)).toMatchObject({ retryOfJobId: null });
    expect((await query('select job_id from webhook_events')).rows).toEqual([{ job_id: pending }]);
  });

  it('without retention times nothing is removed', async () => {
    const [first, second] = [await ended(300), await ended(200)];
    await run({}, () => Promise.resolve(true));
    expect(await keys()).toEqual([initOf(first), initOf(second)].toSorted());
    expect(await rig.find(first)).toMatchObject({ status: 'completed' });
  });
});
