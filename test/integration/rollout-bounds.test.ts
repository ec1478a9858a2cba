import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { rerunReasonOf, totalOf } from '#domain/rollouts/rollout.ts';
import { rolloutRetentionTask, rolloutTask } from '../../controller/upkeep/rollouts.ts';
import { openRolloutRig, type RerunEnd, type RolloutRig } from '../../testing/rollout-rig.ts';

// docs/reference/contract.md, "Rollouts": what happens between two steps of a round, and the bounds of the worker.

const signal = () => new AbortController().signal;
const hashesOf = (items: readonly { readonly hash: string }[]) => items.map(({ hash }) => hash);

describe.skipIf(!inject('postgres'))('rollouts, between two steps', () => {
  let rig: RolloutRig;
  let count = 0;
  beforeAll(async () => {
    rig = await openRolloutRig();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rig.query(`update rollouts set status = 'cancelled', finished_at = now() where finished_at is null`);
    await rig.query(
      `update jobs set status = 'cancelled', finished_at = now(), lease_owner = null, lease_expires_at = null
       where finished_at is null`,
    );
  });
  afterAll(() => rig.close());

  const better: RerunEnd = { bytes: 600, score: 91 };

  /** A rollout of so many media, whose hashes have a prefix of their own. */
  async function rolloutOf(length: number, spec: object = {}) {
    const prefix = `b${count++}-`;
    const hashes = Array.from({ length }, (_, index) => `${prefix}${index}`);
    const revs = await rig.makeMedia(hashes);
    return { id: await rig.create({ which: { hash_prefix: prefix }, ...spec }), hashes, revs };
  }
  const statusOf = async (jobId: string) => (await rig.d.jobs.find(jobId))?.status;
  async function claim(jobId: string): Promise<void> {
    await rig.d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 60_000 });
    await rig.d.jobs.report({ jobId, attempt: 1, phase: 'encoding', progress: 10 });
  }

  it('C32.5: reruns that run count for the hours of the day, and a new day begins at none', async () => {
    const { id } = await rolloutOf(4, { budget: { jobs: 2, hours_per_day: 0.5 } });
    await rig.round(id);
    const [first = '', second = ''] = await rig.queued();
    await claim(second);
    await rig.query(`update jobs set started_at = now() - interval '1 hour' where id = $1`, [second]);
    await rig.end(first, better);
    await rig.round(id);
    expect([await rig.queued(), (await rig.find(id)).hoursToday < 0.1]).toEqual([[], true]);
    await rig.query('update rollouts set spent_core_s = 36000, spent_day = spent_day - 1 where id = $1', [id]);
    await rig.query('update jobs set started_at = now() where id = $1', [second]);
    await rig.round(id);
    const [third = ''] = await rig.queued();
    await rig.end(third, better);
    await rig.round(id);
    expect((await rig.find(id)).hoursToday).toBeLessThan(0.1);
  });

  it('C32.10: a rollout that is paused between the look and the write begins nothing', async () => {
    const { id } = await rolloutOf(1);
    while (await rig.d.rollouts.items.planPage(id, 500));
    await rig.d.rollouts.setPaused(id, true);
    expect(await rig.d.rollouts.items.begin(id, randomUUID())).toBeNull();
    await rig.d.rollouts.setPaused(id, false);
    await rig.d.rollouts.move(id, 'cancelling');
    expect(await rig.d.rollouts.items.begin(id, randomUUID())).toBeNull();
  });

  it('C32.12: a rerun that was made while another worker ended the rollout is cancelled', async () => {
    const { id, hashes } = await rolloutOf(1);
    vi.spyOn(rig.d.rollouts.items, 'made').mockImplementationOnce(async () => {
      await rig.d.rollouts.move(id, 'cancelling');
      await rig.d.rollouts.items.move(id, hashes[0] ?? '', { from: 'running', to: 'planned' });
      return null;
    });
    await rig.round(id);
    const made = await rig.query<{ status: string }>('select status from jobs where rerun_reason = $1', [
      rerunReasonOf(id),
    ]);
    expect(made).toEqual([{ status: 'cancelled' }]);
  });

  it('C32.11: a stream that is made between the look and the rollback is played on', async () => {
    const { id, hashes } = await rolloutOf(1);
    const [hash = ''] = hashes;
    await rig.round(id);
    await rig.end((await rig.queued())[0] ?? '', better);
    await rig.round(id);
    await rig.d.rollouts.move(id, 'rolling_back');
    let newer = '';
    const { items } = rig.d.rollouts;
    const look = items.mediaNow.bind(items);
    vi.spyOn(items, 'mediaNow').mockImplementationOnce(async (of) => {
      const seen = await look(of);
      newer = await rig.end((await rig.submit(hash, { idempotencyKey: `between ${hash}` })).id, better);
      return seen;
    });
    await rig.round(id);
    expect(await rig.playedRev(hash)).toBe(newer);
    expect(totalOf(await rig.find(id))).toMatchObject({ kept: 1, rolled_back: 0 });
  });

  it('C32.11: a media that cannot be rolled back now keeps its rollout open until it is', async () => {
    const { id, hashes, revs } = await rolloutOf(1);
    const [hash = ''] = hashes;
    await rig.round(id);
    await rig.end((await rig.queued())[0] ?? '', better);
    await rig.round(id);
    await rig.d.rollouts.move(id, 'rolling_back');
    vi.spyOn(rig.d.rollouts.items, 'mediaNow').mockRejectedValueOnce(new Error('no answer'));
    await rig.round(id);
    expect((await rig.find(id)).status).toBe('rolling_back');
    await rig.query('update rollout_items set due_at = now() where rollout_id = $1', [id]);
    await rig.round(id);
    expect([(await rig.find(id)).status, await rig.playedRev(hash)]).toEqual(['rolled_back', revs.get(hash)]);
  });

  it('C32.6: that a rerun gives way is noted before it is cancelled, or another worker would count it as failed', async () => {
    const { id, hashes } = await rolloutOf(1);
    await rig.round(id);
    const [rerun = ''] = await rig.queued();
    await claim(rerun);
    const submission = await rig.submit(`${hashes[0]}-new`);
    await rig.query(`update jobs set created_at = now() - interval '5 s' where id = $1`, [submission.id]);
    const { slots } = rig.d.rollouts;
    const note = slots.noteGivingWay.bind(slots);
    const seen: unknown[] = [];
    vi.spyOn(slots, 'noteGivingWay').mockImplementation(async (...given) => {
      seen.push(await statusOf(rerun));
      return note(...given);
    });
    await rig.round(id);
    expect([seen, await statusOf(rerun)]).toEqual([['processing'], 'cancelled']);
  });

  it('C32.6: a rerun that gave way three times keeps its slot, after pauses that grow', async () => {
    const { id, hashes } = await rolloutOf(1);
    const submission = await rig.submit(`${hashes[0]}-new`);
    const old = `now() - interval '5 s'`;
    const pauses: unknown[] = [];
    for (let times = 0; times < 4; times++) {
      await rig.query(`update jobs set status = 'cancelled' where id = $1`, [submission.id]);
      await rig.query('update rollout_items set due_at = now() where rollout_id = $1', [id]);
      await rig.round(id);
      const [rerun = ''] = await rig.queued();
      await claim(rerun);
      await rig.query(`update jobs set status = 'queued', created_at = ${old} where id = $1`, [submission.id]);
      await rig.round(id);
      await rig.round(id);
      const [item] = await rig.query<{ pause: string }>(
        `select round(extract(epoch from due_at - now()) / 30)::text as pause from rollout_items where rollout_id = $1`,
        [id],
      );
      pauses.push([await statusOf(rerun), item?.pause]);
    }
    const gaveWay = ['1', '2', '4'].map((pause) => ['cancelled', pause]);
    expect(pauses).toEqual([...gaveWay, ['processing', '0']]);
  });

  it('C32.6: a submission that waits for a slot of another pool stops no rerun', async () => {
    const { id, hashes } = await rolloutOf(1);
    const submission = await rig.submit(`${hashes[0]}-new`);
    await rig.query(`update jobs set pool = 'empty', created_at = now() - interval '5 s' where id = $1`, [
      submission.id,
    ]);
    await rig.round(id);
    expect(await rig.queued()).toHaveLength(1);
  });

  it('C32.8: a canary has one media at least, and is not judged before every media was looked at', async () => {
    const { id } = await rolloutOf(3, { canary: { share: 1e-9 } });
    vi.spyOn(rig.d.rollouts.items, 'planPage').mockResolvedValueOnce(false);
    await rig.round(id);
    expect(await rig.find(id)).toMatchObject({ status: 'canary', isPlanned: false, verdict: null });
    await rig.round(id);
    const { canary, rest } = await rig.find(id);
    expect([canary.running, rest.planned]).toEqual([1, 2]);
  });

  it('C32.13: an item that is put off is not looked at before its time, whatever its status', async () => {
    const { id, hashes } = await rolloutOf(2, { budget: { jobs: 2 } });
    const { items } = rig.d.rollouts;
    const putOff = (delayMs: number) => Promise.all(hashes.map((hash) => items.delay(id, hash, delayMs)));
    await rig.d.rollouts.move(id, 'running');
    await items.planPage(id, 10);
    await putOff(60_000);
    expect(await items.begin(id, randomUUID())).toBeNull();
    await putOff(0);
    const item = await items.begin(id, randomUUID());
    if (item === null) throw new Error('nothing is due');
    await putOff(60_000);
    expect(await items.unsubmitted(id, 10)).toEqual([]);
    await putOff(0);
    expect(hashesOf(await items.unsubmitted(id, 10))).toEqual([item.hash]);
    await items.move(id, item.hash, { from: 'running', to: 'done' });
    await putOff(60_000);
    expect(await items.done(id, 10)).toEqual([]);
    await putOff(0);
    expect(hashesOf(await items.done(id, 10))).toEqual([item.hash]);
  });

  it('C32.7: scores of two measures are not compared: the stream counts as scored, and not as compared', async () => {
    const { id } = await rolloutOf(2);
    const { items } = rig.d.rollouts;
    await rig.d.rollouts.move(id, 'running');
    await items.planPage(id, 10);
    for (const measure of ['vmaf', 'ssim'] as const) {
      const item = await items.begin(id, randomUUID());
      if (item === null) throw new Error('nothing is due');
      await items.noteSubmitted(id, item, { bytes: 1, score: { measure: 'vmaf', score: 80 } });
      await items.move(id, item.hash, { from: 'running', to: 'done', bytes: 2, score: { measure, score: 90 } });
      // A second worker that has seen the same end moves nothing and counts nothing.
      await items.move(id, item.hash, { from: 'running', to: 'done', bytes: 2, score: { measure, score: 90 } });
    }
    const { rest } = (await rig.d.rollouts.find(id)) ?? {};
    expect(rest).toMatchObject({ running: 0, done: 2, scored: 2, scoreSum: 180, compared: 1 });
    expect([rest?.comparedBeforeSum, rest?.comparedAfterSum, rest?.bytesAfter]).toEqual([80, 90, 4]);
  });

  it('C32.14: a rerun is made once: when it is noted as made, it is no longer among what is to be made', async () => {
    const { id, hashes } = await rolloutOf(1);
    const { items } = rig.d.rollouts;
    await rig.d.rollouts.move(id, 'running');
    await items.planPage(id, 10);
    const item = await items.begin(id, randomUUID());
    if (item === null) throw new Error('nothing is due');
    expect([await items.unsubmitted(id, 10), await items.running(id, 10)]).toEqual([[item], []]);
    expect(await items.noteSubmitted(id, { ...item, jobId: randomUUID() }, { bytes: 1, score: null })).toBe(false);
    expect(await items.noteSubmitted(id, item, { bytes: 1, score: null })).toBe(true);
    expect([await items.unsubmitted(id, 10), await items.running(id, 10)]).toEqual([[], [item]]);
    expect(item.hash).toBe(hashes[0]);
  });

  it('C32.5: a rerun that has ended does not count as running until its item goes on', async () => {
    const { id } = await rolloutOf(1);
    await rig.round(id);
    const [jobId = ''] = await rig.queued();
    await claim(jobId);
    await rig.query(`update jobs set started_at = now() - interval '1 hour' where id = $1`, [jobId]);
    const seconds = () => rig.d.rollouts.items.runningSeconds(id);
    expect(await seconds()).toBeGreaterThanOrEqual(3600);
    await rig.query(`update jobs set status = 'cancelled', finished_at = now() where id = $1`, [jobId]);
    expect(await seconds()).toBe(0);
  });

  it('C32.13: a media that was deleted and made again is not taken for deleted', async () => {
    const { hashes } = await rolloutOf(1);
    const [hash = ''] = hashes;
    const isDeleted = async () => (await rig.d.rollouts.items.mediaNow(hash)).isDeleted;
    await rig.query(`insert into media_deletions (id, hash, reason) values ($1, $2, 'request')`, [randomUUID(), hash]);
    expect(await isDeleted()).toBe(true);
    await rig.query('update media_deletions set lifted_at = now() where hash = $1', [hash]);
    expect(await isDeleted()).toBe(false);
  });

  it('C32.13: a rollout whose round fails delays no other, and is tried again later', async () => {
    const [failing, other] = [await rolloutOf(1), await rolloutOf(1)];
    const { items } = rig.d.rollouts;
    const ended = items.ended.bind(items);
    vi.spyOn(items, 'ended').mockImplementation(async (id, limit) =>
      id === failing.id ? Promise.reject(new Error('no answer')) : ended(id, limit),
    );
    await rolloutTask(rig.d).work(signal());
    expect([(await rig.find(failing.id)).isPlanned, (await rig.find(other.id)).isPlanned]).toEqual([false, true]);
    vi.restoreAllMocks();
    await rig.query(`update rollouts set due_at = now() where id = $1`, [failing.id]);
    await rolloutTask(rig.d).work(signal());
    expect((await rig.find(failing.id)).isPlanned).toBe(true);
  });

  it('items are forgotten 90 days after the end of their rollout, however long ago it began, and counts stay', async () => {
    const { id } = await rolloutOf(2, { budget: { jobs: 2 } });
    await rig.round(id);
    for (const jobId of await rig.queued()) await rig.end(jobId, better);
    await rig.round(id);
    const itemsLeft = async () => {
      await rolloutRetentionTask(rig.d).work(signal());
      return (await rig.query('select from rollout_items where rollout_id = $1', [id])).length;
    };
    await rig.query(`update rollouts set created_at = now() - interval '200 days' where id = $1`, [id]);
    expect(await itemsLeft()).toBe(2);
    await rig.query(`update rollouts set finished_at = now() - interval '91 days' where id = $1`, [id]);
    expect([await itemsLeft(), totalOf(await rig.find(id)).done]).toEqual([0, 2]);
  });
});
