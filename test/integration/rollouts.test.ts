import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { rerunReasonOf, rolloutRequestSchema, totalOf } from '#domain/rollouts/rollout.ts';
import { publishRevision } from '#jobs/completion/publish-revision.ts';
import { planRollout } from '#jobs/rollouts/plan-rollout.ts';
import { openRolloutRig, type RerunEnd, type RolloutRig } from '../../testing/rollout-rig.ts';

// docs/reference/contract.md, "Rollouts": what a worker does, on a real database, with reruns that the test ends.

describe.skipIf(!inject('postgres'))('rollouts', () => {
  let rig: RolloutRig;
  let count = 0;
  beforeAll(async () => {
    rig = await openRolloutRig();
  });
  afterEach(async () => {
    await rig.query(`update rollouts set status = 'cancelled' where finished_at is null`);
    await rig.query(
      `update jobs set status = 'cancelled', finished_at = now(), lease_owner = null, lease_expires_at = null
       where finished_at is null`,
    );
  });
  afterAll(() => rig.close());

  /** Hashes with a prefix of their own. */
  function hashes(length: number): { prefix: string; all: string[] } {
    const prefix = `r${count++}-`;
    return { prefix, all: Array.from({ length }, (_, index) => `${prefix}${index}`) };
  }

  const better: RerunEnd = { bytes: 600, score: 91 };

  /** Rounds, with every rerun ended in between, until nothing changes. */
  async function run(id: string, result: (jobId: string) => RerunEnd | null = () => better, rounds = 60) {
    for (let left = rounds; left > 0; left--) {
      await rig.round(id);
      const { finishedAt } = await rig.find(id);
      if (finishedAt !== null) break;
      for (const jobId of await rig.queued()) await rig.end(jobId, result(jobId));
    }
    return rig.find(id);
  }

  async function markDeleted(hash: string, more?: 'and made again'): Promise<void> {
    await rig.query(
      `insert into media_deletions (id, hash, reason, finished_at, lifted_at)
       values (gen_random_uuid(), $1, 'request', now(), case when $2 then now() end)`,
      [hash, more !== undefined],
    );
  }

  it('C32.3: media are chosen by prefix, profile and time, and one that is deleted, held or without a stream is not', async () => {
    const { prefix, all } = hashes(7);
    await rig.makeMedia(all.slice(0, 5));
    await rig.makeMedia(all.slice(5, 6), better, { profile: { ...rig.d.config.mediaProfiles.byName.get('other')! } });
    await rig.end((await rig.submit(all[6]!)).id, null);
    await rig.query(`insert into media (hash) values ($1) on conflict do nothing`, [all[6]]);
    await rig.query('update media set legal_hold = true where hash = $1', [all[0]]);
    await markDeleted(all[1]!);
    await markDeleted(all[3]!, 'and made again');
    await rig.query(`update jobs set finished_at = now() + interval '1 day' where hash = $1`, [all[2]]);
    const which = { hash_prefix: prefix, profile: 'default', made_before: new Date(Date.now() + 60_000).toISOString() };
    const ended = await run(await rig.create({ which }));
    expect(ended).toMatchObject({ status: 'completed', skipped: { no_stream: 1, legal_hold: 1, deleted: 1 } });
    expect(totalOf(ended)).toMatchObject({ done: 2, failed: 0, planned: 0, running: 0 });
    const made = await rig.query<{ hash: string }>('select hash from jobs where rerun_reason = $1 order by hash', [
      rerunReasonOf(ended.id),
    ]);
    expect(made.map(({ hash }) => hash)).toEqual(all.slice(3, 5));
  });

  it('C32.3: what the profile made already is not made again, unless `made_before` says so', async () => {
    const { prefix, all } = hashes(2);
    await rig.makeMedia(all);
    const which = { hash_prefix: prefix };
    expect(totalOf(await run(await rig.create({ which }))).done).toBe(2);
    const again = await run(await rig.create({ which }));
    expect([totalOf(again).done, again.skipped]).toEqual([0, { made_by_profile: 2 }]);
    const made_before = new Date(Date.now() + 1000).toISOString();
    expect(totalOf(await run(await rig.create({ which: { ...which, made_before } }))).done).toBe(2);
  });

  it('C32.19: a rollout chooses streams by the version that made them, also what its profile made', async () => {
    const { prefix, all } = hashes(4);
    const versions = ['1.9.0', '1.10.0', '1.10.1', null];
    for (const [index, toolVersion] of versions.entries())
      await rig.makeMedia([all[index] ?? ''], { bytes: 1, score: 90, toolVersion });
    const chosen = async (which: object) => {
      const id = await rig.create({ which: { hash_prefix: prefix, ...which } });
      await rig.d.rollouts.items.planPage(id, 100);
      const items = await rig.query<{ hash: string }>(
        'select hash from rollout_items where rollout_id = $1 order by hash',
        [id],
      );
      return items.map(({ hash }) => hash);
    };
    expect(await chosen({ tool_version: '1.10.0' })).toEqual([all[1]]);
    expect(await chosen({ tool_version: '1.10.0', profile: 'other' })).toEqual([]);
    const made = await rig.d.library.find(all[2] ?? '');
    expect(made?.made.map(({ toolVersion }) => toolVersion)).toEqual(['1.10.1']);
  });

  const hourMs = 3_600_000;
  const planOf = (spec: object, bounds?: { pageSize: number; readingMs: number }) => {
    const parsed = rolloutRequestSchema.parse({ to_profile: 'small', ...spec });
    return planRollout({ ...rig.d, listDatabase: rig.database, clock: () => new Date() }, parsed, bounds);
  };

  it('C32.20: a plan counts what the rollout chooses then, and estimates by what was recorded', async () => {
    const { prefix, all } = hashes(6);
    await rig.makeMedia(all);
    await markDeleted(all[0]!);
    await rig.query('update media set legal_hold = true where hash = $1', [all[1]]);
    await rig.query(
      `update jobs set source_ms = $2::int8, used_process_ms = 3 * $2::int8, used_fetch_ms = $2::int8 where hash = any($1)`,
      [all.slice(2, 5), hourMs],
    );
    const which = { hash_prefix: prefix };
    const { plan, isWhole } = await planOf({ which }, { pageSize: 2, readingMs: 60_000 });
    expect(isWhole).toBe(true);
    expect(plan).toEqual({
      lookedAt: 6,
      media: 4,
      skipped: { deleted: 1, legal_hold: 1 },
      sourceMs: 3 * hourMs,
      unmeasured: 1,
      bytesNow: 4_000,
      bytesExpected: null,
      processorMs: 12 * hourMs,
      estimatedFrom: 'present_streams',
    });
    await rig.query('delete from usage_daily');
    await rig.query(
      `insert into usage_daily
       select now()::date - age, '', 'video:transcode', 'small', 'h264', 0, 1, 0, $1::int8, 500 + 100 * age, 0, 0, $1::int8, 0, 0, 0, 0
       from unnest(array[0, 40]) as age`,
      [hourMs],
    );
    const { plan: byProfile } = await planOf({ which });
    expect(byProfile).toMatchObject({ bytesExpected: 1_500, processorMs: 3 * hourMs, estimatedFrom: 'profile' });
    const written = await rig.query(`select id from rollouts where spec -> 'which' ->> 'hash_prefix' = $1`, [prefix]);
    expect(written).toEqual([]);
    const id = await rig.create({ which });
    await rig.d.rollouts.items.planPage(id, 100);
    expect(await rig.query('select hash from rollout_items where rollout_id = $1', [id])).toHaveLength(plan.media);
  });

  it('C32.21: a plan that ends before the last media says that there may be more', async () => {
    const { prefix, all } = hashes(3);
    await rig.makeMedia(all);
    const { plan, isWhole } = await planOf({ which: { hash_prefix: prefix } }, { pageSize: 2, readingMs: 0 });
    expect([isWhole, plan.lookedAt, plan.media]).toEqual([false, 2, 2]);
  });

  it('C32.4: reruns have the lowest priority and the profile as it was when the rollout began, and name the rollout', async () => {
    const { prefix, all } = hashes(1);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix } });
    await rig.round(id);
    const [jobId = ''] = await rig.queued();
    const { config } = rig.d;
    expect(await rig.d.jobs.find(jobId)).toMatchObject({
      priority: -1000,
      rerunReason: `rollout ${id}`,
      profile: config.mediaProfiles.byName.get('small'),
      hash: all[0],
    });
    await run(id);
  });

  it('C32.5: at no moment more reruns are active than `budget.jobs`', async () => {
    const { prefix, all } = hashes(12);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 3 } });
    for (let rounds = 0; rounds < 10; rounds++) {
      // Two workers at once, as when the claim of one has lapsed.
      await Promise.all([rig.round(id), rig.round(id)]);
      const queued = await rig.queued();
      expect(queued.length).toBeLessThanOrEqual(3);
      for (const jobId of queued.slice(0, 2)) await rig.end(jobId, better);
    }
    expect(totalOf(await run(id))).toMatchObject({ done: 12 });
  });

  it('C32.5: once a day has taken its hours, no rerun begins', async () => {
    const { prefix, all } = hashes(4);
    await rig.makeMedia(all);
    const budget = { jobs: 1, hours_per_day: 0.5 };
    const id = await rig.create({ which: { hash_prefix: prefix }, budget });
    await rig.round(id);
    const [jobId = ''] = await rig.queued();
    await rig.end(jobId, better);
    await rig.query(`update jobs set started_at = finished_at - interval '1 hour' where id = $1`, [jobId]);
    await rig.round(id);
    expect([(await rig.find(id)).hoursToday.toFixed(2), await rig.queued()]).toEqual(['1.00', []]);
    await rig.query(`update rollouts set spent_day = spent_day - 1 where id = $1`, [id]);
    await rig.round(id);
    expect([(await rig.find(id)).hoursToday, (await rig.queued()).length]).toEqual([0, 1]);
  });

  it('a rerun that waits does not raise the age of the oldest job that waits', async () => {
    const { prefix, all } = hashes(1);
    await rig.makeMedia(all);
    await rig.round(await rig.create({ which: { hash_prefix: prefix } }));
    expect([(await rig.queued()).length, (await rig.d.jobs.oldestWaitingSeconds()).default]).toEqual([1, 0]);
    await rig.submit(`${prefix}new`);
    expect((await rig.d.jobs.oldestWaitingSeconds()).default).toBeGreaterThan(0);
  });

  it('C32.6: a rerun that holds a slot for which a submission waits is cancelled and planned again', async () => {
    const { prefix, all } = hashes(3);
    const revs = await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 3 } });
    await rig.round(id);
    const statuses = async () => {
      const reruns = await rig.query<{ status: string }>(
        'select status from jobs where rerun_reason = $1 order by started_at desc',
        [rerunReasonOf(id)],
      );
      return reruns.map(({ status }) => status);
    };
    for (const jobId of await rig.queued()) {
      await rig.d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 60_000 });
      await rig.d.jobs.report({ jobId, attempt: 1, phase: 'encoding', progress: 10 });
    }
    await rig.round(id);
    expect(await statuses()).toEqual(['processing', 'processing', 'processing']);
    const submission = await rig.submit(`${prefix}new`);
    await rig.query(`update jobs set created_at = now() - interval '5 s' where id = $1`, [submission.id]);
    await rig.round(id, { isStorageAway: () => true });
    expect(await statuses()).toEqual(['processing', 'processing', 'processing']);
    // One that waits gets one slot, which takes its time to become free: the youngest rerun's, which loses least.
    for (const _ of [1, 2, 3]) await rig.round(id);
    expect(await statuses()).toEqual(['cancelled', 'processing', 'processing']);
    expect(totalOf(await rig.find(id))).toMatchObject({ planned: 1, running: 2, failed: 0 });
    await rig.query('update rollout_items set due_at = now() where rollout_id = $1', [id]);
    await rig.query(`update jobs set status = 'cancelled', finished_at = now() where id = $1`, [submission.id]);
    const busy = await rig.query<{ id: string }>(`select id from jobs where lease_owner is not null`);
    await rig.query('update jobs set lease_owner = null, lease_expires_at = null where lease_owner is not null');
    for (const { id: jobId } of busy) await rig.end(jobId, better);
    expect(totalOf(await run(id))).toMatchObject({ done: 3, planned: 0 });
    for (const hash of all) expect(await rig.playedRev(hash)).not.toBe(revs.get(hash));
  });

  it('C32.6: no rerun begins while a submission waits for a slot', async () => {
    const { prefix, all } = hashes(1);
    await rig.makeMedia(all);
    const submission = await rig.submit(`${prefix}new`);
    await rig.query(`update jobs set created_at = now() - interval '5 s' where id = $1`, [submission.id]);
    const id = await rig.create({ which: { hash_prefix: prefix, profile: 'default' } });
    await rig.round(id);
    expect(await rig.queued()).toEqual([]);
    await rig.end(submission.id, better);
    await rig.round(id);
    expect(await rig.queued()).toHaveLength(1);
  });

  const claimed = `status = 'processing', lease_owner = 'other', lease_expires_at = 'infinity'`;
  const hasNoSlot = `${claimed}, phase = 'admitted'`;
  const otherReason = `waiting_reason = '{"code": "storage_away", "message": "away"}'`;
  it.each([
    ['one that has no slot yet', 'priority = 0', 1],
    ['one that a cluster was given and has no slot for', hasNoSlot, 1],
    ['one that runs', `${claimed}, phase = 'encoding'`, 0],
    ['one that has ended', `status = 'cancelled', finished_at = now()`, 0],
    ['a rerun', 'priority = -1000', 0],
    ['a rerun that has no slot in a cluster', `${hasNoSlot}, priority = -1000`, 0],
    ['one that waits for something else', otherReason, 0],
    ['one of a cluster that waits for something else', `${hasNoSlot}, ${otherReason}`, 0],
    ['one whose next attempt comes later', `not_before = now() + interval '1 hour'`, 0],
  ])('C32.6: a rerun gives way to jobs that wait for a slot: %s (%i)', async (_what, changes, expected) => {
    const { id } = await rig.submit(`${hashes(1).prefix}new`);
    await rig.query(`update jobs set ${changes} where id = $1`, [id]);
    const waiting = async () => {
      const found = await rig.d.rollouts.slots.waitingSubmissions(2_000);
      return found.reduce((sum, { jobs }) => sum + jobs, 0);
    };
    // Of just now, none.
    expect(await waiting()).toBe(0);
    const before = `now() - interval '5 s'`;
    await rig.query(`update jobs set created_at = ${before}, updated_at = ${before} where id = $1`, [id]);
    expect(await waiting()).toBe(expected);
  });

  it('C32.7: the status has planned, running, done and failed, bytes saved, and mean scores', async () => {
    const { prefix, all } = hashes(4);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 3 } });
    await rig.round(id);
    expect(totalOf(await rig.find(id))).toMatchObject({ planned: 1, running: 3, done: 0, failed: 0 });
    const [first, second, third] = await rig.queued();
    await rig.end(first!, { bytes: 500, score: 92 });
    await rig.end(second!, { bytes: 700, score: 88 });
    await rig.end(third!, null);
    await rig.round(id);
    const total = totalOf(await rig.find(id));
    expect(total).toMatchObject({ planned: 0, running: 1, done: 2, failed: 1 });
    expect(total).toMatchObject({ bytesBefore: 2000, bytesAfter: 1200, compared: 2 });
    expect([total.comparedBeforeSum, total.comparedAfterSum, total.scoreSum, total.scored]).toEqual([180, 180, 180, 2]);
    const [failure] = await rig.d.rollouts.items.failures(id, 20);
    expect(failure).toMatchObject({ jobId: third, reason: 'corrupt_input' });
    await run(id);
  });

  it('C32.8: a canary is made first, and nothing else begins before it has passed', async () => {
    const { prefix, all } = hashes(20);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 20 }, canary: { share: 0.2 } });
    await rig.round(id);
    const { canary, rest } = await rig.find(id);
    expect([canary.running > 0, canary.planned, rest.running]).toEqual([true, 0, 0]);
    for (const jobId of await rig.queued()) await rig.end(jobId, better);
    await rig.round(id);
    const passed = await rig.find(id);
    expect(passed).toMatchObject({ status: 'running', verdict: { passed: true } });
    // The round that judges the canary begins what follows it.
    expect(passed.rest.running).toBeGreaterThan(0);
    const ended = await run(id);
    expect([ended.status, totalOf(ended).done]).toEqual(['completed', 20]);
  });

  it('C32.10: paused, it begins nothing and lets jobs end; resumed, it goes on', async () => {
    const { prefix, all } = hashes(3);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix } });
    await rig.round(id);
    await rig.d.rollouts.setPaused(id, true);
    const [running = ''] = await rig.queued();
    await rig.end(running, better);
    await rig.round(id);
    expect([await rig.queued(), totalOf(await rig.find(id)).done]).toEqual([[], 1]);
    await rig.d.rollouts.setPaused(id, false);
    expect(totalOf(await run(id)).done).toBe(3);
  });

  it('C32.11: a rollback cancels what runs, and publishes the earlier streams where none is newer', async () => {
    const { prefix, all } = hashes(4);
    const revs = await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 3 } });
    await rig.round(id);
    const [first = '', second = '', third = ''] = await rig.queued();
    await rig.end(first, better);
    await rig.end(second, better);
    await rig.round(id);
    const replaced = (await rig.d.jobs.find(second))?.hash ?? '';
    const newer = await rig.end((await rig.submit(replaced, { idempotencyKey: 'newer' })).id, better);
    await rig.d.rollouts.move(id, 'rolling_back');
    await rig.round(id);
    const ended = await rig.find(id);
    expect([ended.status, (await rig.d.jobs.find(third))?.status]).toEqual(['rolled_back', 'cancelled']);
    expect(totalOf(ended)).toMatchObject({ done: 0, running: 0, rolled_back: 1, kept: 1 });
    for (const hash of all) expect(await rig.playedRev(hash)).toBe(hash === replaced ? newer : revs.get(hash));
  });

  it('C32.11: a completed rollout can be rolled back, and a media whose earlier objects are deleted is kept', async () => {
    const { prefix, all } = hashes(3);
    const revs = await rig.makeMedia(all);
    const { id } = await run(await rig.create({ which: { hash_prefix: prefix } }));
    await rig.query(`update jobs set results_expired = true where hash = $1 and replaced_at is not null`, [all[2]]);
    await rig.d.rollouts.move(id, 'rolling_back');
    await rig.round(id);
    expect(totalOf(await rig.find(id))).toMatchObject({ rolled_back: 2, kept: 1 });
    for (const hash of all.slice(0, 2)) expect(await rig.playedRev(hash)).toBe(revs.get(hash));
  });

  it('C32.11: an earlier stream is not published over one that was made between the look and the write', async () => {
    const hash = hashes(1).all[0]!;
    const rev = (await rig.makeMedia([hash])).get(hash)!;
    const rerun = await rig.submit(hash, { idempotencyKey: `rerun of ${hash}` });
    const made = await rig.end(rerun.id, better);
    const newer = await rig.end((await rig.submit(hash, { idempotencyKey: `newer than ${hash}` })).id, better);
    const late = publishRevision(rig.d, { hash, rev, replaces: rerun.id });
    await expect(late).rejects.toMatchObject({ code: 'conflict' });
    expect([made === newer, await rig.playedRev(hash)]).toEqual([false, newer]);
  });

  it('C32.14: a rerun that was named before a crash is made by that name, and not at all once the rollout ends', async () => {
    const { prefix, all } = hashes(2);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 2 } });
    while (await rig.d.rollouts.items.planPage(id, 500));
    const [first, second] = [randomUUID(), randomUUID()];
    await rig.d.rollouts.items.begin(id, first);
    for (const _ of [1, 2]) {
      await rig.round(id);
      expect(await rig.d.jobs.find(first)).toMatchObject({ status: 'queued', rerunReason: `rollout ${id}` });
      // As if the crash came after the job and before it was noted.
      await rig.query('update rollout_items set is_submitted = false where job_id = $1', [first]);
    }
    await rig.query(`update rollout_items set job_id = $2 where rollout_id = $1 and job_id <> $3`, [id, second, first]);
    await rig.query('update rollout_items set is_submitted = false where job_id = $1', [second]);
    await rig.d.rollouts.move(id, 'rolling_back');
    await rig.round(id);
    expect([(await rig.d.jobs.find(first))?.status, await rig.d.jobs.find(second)]).toEqual(['cancelled', null]);
    expect((await rig.find(id)).status).toBe('rolled_back');
  });

  it('C32.12: a cancelled rollout keeps what it made and begins nothing more', async () => {
    const { prefix, all } = hashes(3);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix } });
    await rig.round(id);
    await rig.end((await rig.queued())[0]!, better);
    await rig.round(id);
    const [active = ''] = await rig.queued();
    await rig.d.rollouts.move(id, 'cancelling');
    await rig.round(id);
    expect((await rig.d.jobs.find(active))?.status).toBe('cancelled');
    expect(totalOf(await rig.find(id))).toMatchObject({ done: 1, failed: 1, planned: 1 });
    expect((await rig.find(id)).status).toBe('cancelled');
  });

  it('C32.13: a row that cannot be read is counted as skipped and stops nothing', async () => {
    const { prefix, all } = hashes(30);
    await rig.makeMedia(all);
    await rig.query(`update jobs set profile = $2::json where hash = $1`, [all[7], '{"name":"\\ud800"}']);
    const ended = await run(await rig.create({ which: { hash_prefix: prefix }, budget: { jobs: 50 } }));
    expect(ended).toMatchObject({ status: 'completed', skipped: { unreadable: 1 } });
    expect(totalOf(ended).done).toBe(29);
  });

  it('C32.13: a media that was deleted, held or replaced since it was chosen is skipped', async () => {
    const { prefix, all } = hashes(4);
    await rig.makeMedia(all);
    const id = await rig.create({ which: { hash_prefix: prefix } });
    await rig.d.rollouts.setPaused(id, true);
    await rig.round(id);
    await rig.query('update media set legal_hold = true where hash = $1', [all[0]]);
    await markDeleted(all[1]!);
    await markDeleted(all[3]!, 'and made again');
    await rig.end((await rig.submit(all[2]!, { idempotencyKey: 'newer still' })).id, better);
    await rig.d.rollouts.setPaused(id, false);
    expect(totalOf(await run(id))).toMatchObject({ done: 1, skipped: 3 });
  });
});
