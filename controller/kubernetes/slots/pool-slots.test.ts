import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { ClaimedJobs } from './claimed-jobs.ts';
import { PoolSlots } from './pool-slots.ts';

const job = (id: string) => ({ id, attempt: 1 }) as Job;
const claim = (priority = 0) => ({ pool: 'default', isSuspended: false, priority });

/** Slots of a pool; Postgres lets every job be claimed but for the lost ones. */
function slotsOf(concurrency: number, lost: readonly string[] = []): PoolSlots {
  return new PoolSlots({
    claimed: new ClaimedJobs(),
    concurrencyOf: (pool) => (pool === 'default' ? concurrency : 0),
    jobs: { claim: ({ jobId }) => Promise.resolve(lost.includes(jobId) ? null : job(jobId)) },
  });
}

describe('the slots of a pool', () => {
  it('are as many as its concurrency allows beside the claimed jobs', () => {
    const slots = slotsOf(2);
    slots.add(job('a'), claim());
    expect(slots.freeForTickets('default')).toBe(1);
    expect(slots.freeForTickets('absent')).toBe(0);
  });

  it('are reserved for queued jobs with a priority, and claimed highest priority first', async () => {
    const slots = slotsOf(2);
    for (const [id, priority] of [
      ['low', 1],
      ['high', 9],
      ['middle', 5],
    ] as const)
      slots.prefer(job(id), claim(priority));
    expect(slots.freeForTickets('default')).toBe(0);
    expect(await slots.claimPreferred()).toEqual(['high', 'middle']);
    expect(await slots.claimPreferred()).toEqual([]);
    slots.claimed.remove('high');
    expect(await slots.claimPreferred()).toEqual(['low']);
  });

  it('are free for tickets again when a preferred job was claimed elsewhere or has ended', async () => {
    const slots = slotsOf(1, ['ended']);
    slots.prefer(job('ended'), claim(3));
    expect(await slots.claimPreferred()).toEqual([]);
    expect(slots.freeForTickets('default')).toBe(1);
  });

  it('must be given up by a batch when the pool is scaled down, or a preferred job finds none free', () => {
    const slots = slotsOf(2);
    slots.add(job('a'), claim());
    slots.add(job('b'), claim());
    expect(slots.mustYield('default')).toBe(false);
    slots.prefer(job('urgent'), claim(5));
    expect(slots.mustYield('default')).toBe(true);
    slots.unprefer('urgent');
    slots.add(job('c'), claim());
    expect(slots.mustYield('default')).toBe(true);
  });

  it('count a preferred job once when its ticket claimed it', () => {
    const slots = slotsOf(2);
    slots.prefer(job('a'), claim(3));
    slots.add(job('a'), claim(3));
    expect(slots.freeForTickets('default')).toBe(1);
  });

  it('are waited for by claimed jobs without a Job, highest priority first', () => {
    const slots = slotsOf(3);
    slots.add(job('first'), claim());
    slots.add(job('running'), claim());
    slots.add(job('urgent'), claim(7));
    slots.running.beginCreation('mj-running-1', { jobId: 'running', pool: 'default' });
    expect(slots.waitingIn('default')).toEqual(['urgent', 'first']);
  });
});
