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

describe('a change of the claimed jobs', () => {
  it.each<[string, (claimed: ClaimedJobs) => unknown, boolean]>([
    ['a job that is claimed', (claimed) => claimed.set('b', job), true],
    ['a job that has ended', (claimed) => claimed.remove('a'), true],
    ['a job that was not claimed', (claimed) => claimed.remove('b'), false],
    ['an announcement', (claimed) => claimed.announce(), true],
    ['a read', (claimed) => claimed.refresh(() => Promise.resolve([])), true],
    ['a read that fails', (claimed) => claimed.refresh(() => Promise.reject(new Error('x'))).catch(() => 0), true],
  ])('whether %s wakes whoever waits', async (_, change, isWaking) => {
    const claimed = new ClaimedJobs();
    claimed.set('a', job);
    const stop = new AbortController();
    const woken = claimed.nextChange(stop.signal).then(
      () => true,
      () => false,
    );
    await change(claimed);
    stop.abort();
    expect(await woken).toBe(isWaking);
  });

  it('is not waited for any more once its waiter stops', async () => {
    const reason = new Error('the term has ended');
    await expect(new ClaimedJobs().nextChange(AbortSignal.abort(reason))).rejects.toMatchObject({ cause: reason });
  });

  it('after a read is of the next one: a job that ended before it may be claimed again', async () => {
    const claimed = new ClaimedJobs();
    await claimed.refresh(() => {
      claimed.set('a', job);
      return Promise.resolve([]);
    });
    expect([...claimed.ids]).toEqual(['a']);
    await claimed.refresh(() => Promise.resolve([]));
    expect([...claimed.ids]).toEqual([]);
  });
});
