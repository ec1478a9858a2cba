import { describe, expect, it } from 'vitest';
import { ClaimedJobs } from './claimed-jobs.ts';

const slot = { pool: 'default', isSuspended: false };
const row = (id: string) => ({ id, ...slot });

describe('the jobs that are held', () => {
  it('are what the last look brought', async () => {
    const held = new ClaimedJobs();
    held.add('a', slot);
    await held.refresh(() => Promise.resolve([row('b'), { ...row('c'), isSuspended: true }]));
    expect([...held.ids]).toEqual(['b', 'c']);
    expect(held.count('default')).toBe(1);
  });

  it('with what changed while a look was under way: what it brings of that may be old', async () => {
    const held = new ClaimedJobs();
    held.add('ended', slot);
    const looking = Promise.withResolvers<ReturnType<typeof row>[]>();
    const refreshed = held.refresh(() => looking.promise);
    // Between its end and its next claim an attempt is nobody's: a look that fell between them does not know the job.
    held.add('claimed', slot);
    held.remove('ended');
    looking.resolve([row('ended')]);
    await refreshed;
    expect([...held.ids]).toEqual(['claimed']);
  });

  it('stay as they were when the look fails', async () => {
    const held = new ClaimedJobs();
    held.add('a', slot);
    await expect(held.refresh(() => Promise.reject(new Error('no database')))).rejects.toThrow('no database');
    expect(held.has('a')).toBe(true);
    await held.refresh(() => Promise.resolve([]));
    expect(held.has('a')).toBe(false);
  });
});
