import { describe, expect, it } from 'vitest';
import { ClaimedJobs } from './claimed-jobs.ts';

const job = { pool: 'default', isSuspended: false, priority: 0, isImage: false };
const row = (id: string) => ({ id, ...job });

describe('the register of claimed jobs', () => {
  it('the register of claimed jobs holds what the last read returned', async () => {
    const claimed = new ClaimedJobs();
    claimed.set('a', job);
    await claimed.refresh(() => Promise.resolve([row('b'), { ...row('c'), isSuspended: true }]));
    expect([...claimed.ids]).toEqual(['b', 'c']);
    expect(claimed.count('default')).toBe(1);
  });

  it('the register of claimed jobs keeps what changed during a read, whose answer about it may be old', async () => {
    const claimed = new ClaimedJobs();
    claimed.set('ended', job);
    const reading = Promise.withResolvers<ReturnType<typeof row>[]>();
    const refreshed = claimed.refresh(() => reading.promise);
    // Between the end of an attempt and the next claim the job has no owner: a read in between does not return it.
    claimed.set('claimed', job);
    claimed.remove('ended');
    reading.resolve([row('ended')]);
    await refreshed;
    expect([...claimed.ids]).toEqual(['claimed']);
  });

  it('the register of claimed jobs stays as it is when a read fails', async () => {
    const claimed = new ClaimedJobs();
    claimed.set('a', job);
    await expect(claimed.refresh(() => Promise.reject(new Error('no database')))).rejects.toThrow('no database');
    expect(claimed.has('a')).toBe(true);
    await claimed.refresh(() => Promise.resolve([]));
    expect(claimed.has('a')).toBe(false);
  });

  it('the register of claimed jobs orders the jobs of a pool by priority, and equal ones by their claims', () => {
    const claimed = new ClaimedJobs();
    claimed.set('first', job);
    claimed.set('second', job);
    claimed.set('urgent', { ...job, priority: 5 });
    claimed.set('suspended', { ...job, isSuspended: true });
    claimed.set('elsewhere', { ...job, pool: 'video-large' });
    expect(claimed.activeIn('default')).toEqual(['urgent', 'first', 'second']);
  });
});
