import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { publishRevision } from '#jobs/completion/publish-revision.ts';
import { makeRerun, rerunJob } from '#jobs/submission/rerun.ts';
import { retryJob } from '#jobs/submission/retry.ts';
import { totalOf } from '#domain/rollouts/rollout.ts';
import { openRolloutRig, type RerunEnd, type RolloutRig } from '../../testing/rollout-rig.ts';

// Which stream of a media is played (docs/reference/contract.md, "Media"): the stream of the last accepted intent,
// whoever ends first. Two actors on one hash, in both orders.

describe.skipIf(!inject('postgres'))('the order of intents', () => {
  let rig: RolloutRig;
  let count = 0;
  beforeAll(async () => {
    rig = await openRolloutRig();
  });
  afterAll(() => rig.close());

  const made: RerunEnd = { bytes: 900, score: 92 };
  const newHash = () => `intent${count++}-`;
  const submit = (hash: string, source: string) => rig.submit(hash, { source });
  const rerun = (jobId: string) => rerunJob(rig.d, jobId, { rerun: {}, trace: null });
  const pin = (hash: string, rev: string) => publishRevision(rig.d, { hash, rev });

  /** The revision that is played, by the bucket and by the rows, which must agree. */
  async function played(hash: string): Promise<string> {
    const rows = await rig.query<{ rev: string }>(
      'select stream_rev as rev from jobs where hash = $1 and stream_rev is not null and replaced_at is null',
      [hash],
    );
    expect(rows.map(({ rev }) => rev)).toEqual([await rig.playedRev(hash)]);
    return rows[0]?.rev ?? '';
  }

  /** A media that plays, and a rollout whose rerun of it is queued. */
  async function underRollout() {
    const hash = newHash();
    const first = await rig.submit(hash);
    const rev = await rig.end(first.id, made);
    const rollout = await rig.create({ which: { hash_prefix: hash } });
    await rig.round(rollout);
    const [rerunId = ''] = (await rig.queued()).slice(-1);
    return { hash, first, rev, rollout, rerunId };
  }

  it.each([
    ['the submission, then the rerun', false],
    ['the rerun, then the submission', true],
  ])(
    'C29.20: a submission is played over a rerun of what was there before; they end as %s',
    async (_, isRerunFirst) => {
      const { hash, rollout, rerunId } = await underRollout();
      const newer = await submit(hash, 'b.mp4');
      if (isRerunFirst) await rig.end(rerunId, made);
      const rev = await rig.end(newer.id, made);
      if (!isRerunFirst) await rig.end(rerunId, made);
      expect(await played(hash)).toBe(rev);
      await rig.round(rollout);
      expect(totalOf(await rig.find(rollout))).toMatchObject({ done: 0, skipped: 1, bytesBefore: 0 });
    },
  );

  it('C29.20: a submission that was accepted before a rollout goes on is left alone, also when it waits', async () => {
    const hash = newHash();
    await rig.end((await rig.submit(hash)).id, made);
    const newer = await submit(hash, 'b.mp4');
    const rollout = await rig.create({ which: { hash_prefix: hash } });
    await rig.round(rollout);
    expect(totalOf(await rig.find(rollout))).toMatchObject({ skipped: 1, running: 0 });
    expect(await rig.query('select reason from rollout_items where hash = $1', [hash])).toEqual([
      { reason: 'submitted' },
    ]);
    expect(await played(hash)).not.toBe(await rig.end(newer.id, made));
    expect((await rig.query('select 1 from jobs where hash = $1 and rerun_of_job_id is not null', [hash])).length).toBe(
      0,
    );
  });

  it('C29.20: a rerun that someone asked for by hand is played over what it makes again, and over nothing newer', async () => {
    const hash = newHash();
    const first = await rig.submit(hash);
    await rig.end(first.id, made);
    const { job: again } = await rerun(first.id);
    const rev = await rig.end(again.id, made);
    expect(await played(hash)).toBe(rev);
    const newer = await submit(hash, 'b.mp4');
    const newerRev = await rig.end(newer.id, made);
    const { job: late } = await rerun(first.id);
    await rig.end(late.id, made);
    expect(await played(hash)).toBe(newerRev);
  });

  it('C29.20: a rerun of a rollout is played over no rerun that someone made by hand meanwhile', async () => {
    const hash = newHash();
    const first = await rig.submit(hash);
    await rig.end(first.id, made);
    const { job: byHand } = await rerun(first.id);
    const rev = await rig.end(byHand.id, made);
    // The rollout had looked before.
    const late = { rerun: { profile: 'small', replaces: first.id }, trace: null };
    const { job: ofRollout } = await makeRerun(rig.d, first.id, late);
    await rig.end(ofRollout.id, made);
    expect([await played(hash), (await rig.submit(hash)).id]).toEqual([rev, byHand.id]);
  });

  it('C29.20: a revision that was published again is played over jobs that were submitted before, and not after', async () => {
    const hash = newHash();
    const good = await rig.end((await rig.submit(hash)).id, made);
    const [before, faulty] = [await submit(hash, 'b.mp4'), await submit(hash, 'c.mp4')];
    await rig.end(faulty.id, made);
    await pin(hash, good);
    const after = await submit(hash, 'd.mp4');
    await rig.end(before.id, made);
    expect(await played(hash)).toBe(good);
    expect(await rig.end(after.id, made)).toBe(await played(hash));
  });

  it('C29.20: a retry and a submission count from when they were asked for, a retry of a rerun as the rerun does', async () => {
    const hash = newHash();
    const failed = await rig.submit(hash);
    await rig.end(failed.id, null);
    const other = await submit(hash, 'b.mp4');
    await rig.d.source.put('a.mp4', Buffer.alloc(10, 1), { contentType: 'video/mp4' });
    const [retry] = await retryJob(rig.d, failed.id, null);
    const rev = await rig.end(retry?.id ?? '', made);
    await rig.end(other.id, made);
    expect(await played(hash)).toBe(rev);
    const { job: again } = await rerun(retry?.id ?? '');
    await rig.end(again.id, null);
    const newest = await rig.end((await submit(hash, 'c.mp4')).id, made);
    const [late] = await retryJob(rig.d, again.id, null);
    await rig.end(late?.id ?? '', made);
    expect(await played(hash)).toBe(newest);
  });

  it('C13.43: an equal submission is answered by the job whose stream is played, after a rollback and a publication', async () => {
    const { hash, first, rev, rollout, rerunId } = await underRollout();
    const answering = async () => (await rig.submit(hash)).id;
    const rerunRev = await rig.end(rerunId, made);
    await rig.round(rollout);
    expect(await answering()).toBe(rerunId);
    await pin(hash, rev);
    expect(await answering()).toBe(first.id);
    await pin(hash, rerunRev);
    expect(await answering()).toBe(rerunId);
    await rig.d.rollouts.move(rollout, 'rolling_back');
    await rig.round(rollout);
    expect([await played(hash), await answering()]).toEqual([rev, first.id]);
  });

  it('C13.43: a rerun that is not played leaves the key with the job that is', async () => {
    const { hash, first, rev, rerunId } = await underRollout();
    await pin(hash, rev);
    await rig.end(rerunId, made);
    expect([await played(hash), (await rig.submit(hash)).id]).toEqual([rev, first.id]);
  });

  it('C13.43: equal jobs that end after a publication leave the key with the job that is played', async () => {
    const hash = newHash();
    const failed = await rig.submit(hash);
    await rig.end(failed.id, null);
    const { job: again } = await rerun(failed.id);
    const equal = await rig.submit(hash);
    const rev = await rig.end(again.id, made);
    const { job: late } = await rerun(again.id);
    await pin(hash, rev);
    for (const id of [equal.id, late.id]) {
      await rig.end(id, made);
      expect([await played(hash), (await rig.submit(hash)).id]).toEqual([rev, again.id]);
    }
  });

  it('C32.11: a rollback undoes the rollout, and no submission that waits meanwhile', async () => {
    const { hash, rev, rollout, rerunId } = await underRollout();
    await rig.end(rerunId, made);
    const newer = await submit(hash, 'b.mp4');
    await rig.d.rollouts.move(rollout, 'rolling_back');
    await rig.round(rollout);
    expect(await played(hash)).toBe(rev);
    expect(await rig.end(newer.id, made)).toBe(await played(hash));
  });
});
