import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { rerunReasonOf, type RolloutStatus, totalOf } from '#domain/rollouts/rollout.ts';
import { openRolloutRig, type RerunEnd, type RolloutRig } from '../../testing/rollout-rig.ts';

// Rollouts over 200 media by a worker that is a process of its own.

const hashesOf = (prefix: string) => Array.from({ length: 200 }, (_, index) => `${prefix}${index}`);

describe.skipIf(!inject('postgres'))('rollouts over 200 media', () => {
  let rig: RolloutRig;
  let worker: ChildProcess;
  beforeAll(async () => {
    rig = await openRolloutRig();
    start();
  });
  afterAll(async () => {
    await kill();
    await rig.close();
  });

  function start(): void {
    const { databaseUrl, source, media } = rig.place;
    const script = join(import.meta.dirname, 'rollout-worker-process.ts');
    worker = spawn(process.execPath, [script, databaseUrl, source, media], { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  async function kill(): Promise<void> {
    const ended = once(worker, 'exit');
    worker.kill('SIGKILL');
    await ended;
  }

  /** Makes the reruns until the rollout has the status; `during` is called after each, with their number. */
  async function executeUntil(
    { id, status, result }: { id: string; status: RolloutStatus; result: RerunEnd },
    during: (made: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const { jobs } = (await rig.find(id)).spec.budget;
    let made = 0;
    for (const deadline = Date.now() + 100_000; (await rig.find(id)).status !== status;) {
      if (Date.now() > deadline) throw new Error(`not ${status}: ${JSON.stringify(await rig.find(id))}`);
      const queued = await rig.queued();
      expect(queued.length).toBeLessThanOrEqual(jobs);
      for (const jobId of queued) {
        await rig.end(jobId, result);
        await during(++made);
      }
      await sleep(20);
    }
  }

  const perMedia = (id: string) =>
    rig.query<{ hash: string; jobs: number }>(
      `select hash, count(*)::int as jobs from jobs where rerun_reason = $1 and status = 'completed' group by hash`,
      [rerunReasonOf(id)],
    );

  it('C32.9: a canary that fails its gate stops the rollout by itself, and the earlier streams are played', async () => {
    const revs = await rig.makeMedia(hashesOf('bad-'));
    const canary = { share: 0.1, max_bytes_ratio: 1, min_score: 85 };
    const id = await rig.create({
      which: { hash_prefix: 'bad-' },
      to_profile: 'measured',
      budget: { jobs: 20 },
      canary,
    });
    await executeUntil({ id, status: 'rolled_back', result: { bytes: 1100, score: 80 } });
    const rollout = await rig.find(id);
    expect(rollout.verdict).toEqual({
      passed: false,
      failures: [
        'bytes came to 1.1 of before, more than max_bytes_ratio 1',
        'the mean score is 80, less than min_score 85',
      ],
    });
    const { rolled_back: rolledBack, planned, done } = totalOf(rollout);
    expect([rolledBack, done]).toEqual([rollout.canary.rolled_back, 0]);
    expect(rolledBack + planned).toBe(200);
    expect(rolledBack).toBeGreaterThan(5);
    expect(await perMedia(id)).toHaveLength(rolledBack);
    for (const [hash, rev] of revs) expect(await rig.playedRev(hash)).toBe(rev);
  });

  it('C32.14: a rollout whose worker is killed twice in between makes every media once', async () => {
    const revs = await rig.makeMedia(hashesOf('good-'));
    const canary = { share: 0.05, max_bytes_ratio: 1 };
    const id = await rig.create({ which: { hash_prefix: 'good-' }, budget: { jobs: 20 }, canary });
    await executeUntil({ id, status: 'completed', result: { bytes: 600, score: 91 } }, async (made) => {
      if (made !== 30 && made !== 110) return;
      await kill();
      // What a claim is for: another worker goes on once it has lapsed.
      await rig.query(`update rollouts set due_at = now() where id = $1`, [id]);
      start();
    });
    expect(totalOf(await rig.find(id))).toMatchObject({
      done: 200,
      failed: 0,
      bytesBefore: 200_000,
      bytesAfter: 120_000,
    });
    expect(await perMedia(id)).toHaveLength(200);
    expect((await perMedia(id)).filter(({ jobs }) => jobs !== 1)).toEqual([]);
    for (const [hash, rev] of revs) expect(await rig.playedRev(hash)).not.toBe(rev);
  });
});
