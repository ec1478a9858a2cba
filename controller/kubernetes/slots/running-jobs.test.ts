import { describe, expect, it } from 'vitest';
import { RunningJobs } from './running-jobs.ts';

const name = 'mj-1-1';
const claimed = () => {
  const running = new RunningJobs();
  running.claim(name, '1');
  return running;
};

describe('the register of running Jobs', () => {
  it('the register of running Jobs knows that a Job never existed only if its attempt was claimed in this term', () => {
    expect(new RunningJobs().isNeverCreated(name)).toBe(false);
    expect(claimed().isNeverCreated(name)).toBe(true);
  });

  it('the register of running Jobs treats a requested Job as created, also after it has ended', () => {
    const running = claimed();
    running.beginCreation(name, { jobId: '1', pool: 'default' });
    expect(running.isNeverCreated(name)).toBe(false);
    expect(running.isBeingCreated(name)).toBe(true);
    expect([...running.jobIds()]).toEqual(['1']);
    running.show(name, { jobId: '1', pool: 'default', mayRun: true });
    expect(running.isBeingCreated(name)).toBe(false);
    expect(running.end(name)).toBe('default');
    expect(running.isNeverCreated(name)).toBe(false);
  });

  it('the register of running Jobs lets a refused Job be requested again and does not count it meanwhile', () => {
    const running = claimed();
    running.beginCreation(name, { jobId: '1', pool: 'default' });
    running.failCreation(name, '1');
    expect([running.isNeverCreated(name), running.isBeingCreated(name), running.count('default')]).toEqual([
      true,
      false,
      0,
    ]);
  });

  it('the register of running Jobs forgets a claimed attempt whose job is no longer claimed', () => {
    const running = claimed();
    running.forgetUnclaimed(() => false);
    expect(running.isNeverCreated(name)).toBe(false);
  });

  it('the register of running Jobs counts a Job of the cache only if its attempt may run', () => {
    const running = new RunningJobs();
    running.show(name, { jobId: '1', pool: 'default', mayRun: false });
    expect(running.count('default')).toBe(0);
    running.show(name, { jobId: '1', pool: 'default', mayRun: true });
    expect(running.count('default')).toBe(1);
  });

  it('the register of running Jobs measures how long a Job has been running', () => {
    const running = claimed();
    running.beginCreation(name, { jobId: '1', pool: 'default' });
    expect(running.runningMs(name, 1_000)).toBe(0);
    expect(running.runningMs(name, 2_500)).toBe(1_500);
  });
});

describe('the pods of running Jobs', () => {
  const shown = { jobId: '1', pool: 'default', mayRun: true };

  it('are counted in their pool from the request on', () => {
    const running = claimed();
    expect([running.count('default'), running.has(name), running.podsOf(name)]).toEqual([0, false, undefined]);
    expect([running.isBeingCreated(name), running.isBeingCreated('unknown')]).toEqual([false, false]);
    running.beginCreation(name, { jobId: '1', pool: 'default', pods: 3 });
    running.beginCreation('other', { jobId: '2', pool: 'default' });
    running.beginCreation('elsewhere', { jobId: '3', pool: 'gpu', pods: 9 });
    expect([running.count('default'), running.count('gpu'), running.podsOf('other')]).toEqual([4, 9, 1]);
    expect([running.has(name), running.podsOf(name)]).toEqual([true, 3]);
  });

  it('are fewer as the cache shows them, which frees slots', () => {
    const running = new RunningJobs();
    expect(running.show(name, { ...shown, pods: 3 })).toBe(false);
    expect(running.show(name, { ...shown, pods: 3 })).toBe(false);
    expect(running.show(name, { ...shown, mayRun: false, pods: 2 })).toBe(true);
    expect([running.podsOf(name), running.count('default')]).toEqual([2, 2]);
    expect(running.show(name, shown)).toBe(true);
    expect(running.podsOf(name)).toBe(1);
  });

  it('end with their Job, whose pool has capacity then', () => {
    const running = claimed();
    expect(running.end(name)).toBeUndefined();
    expect(running.isNeverCreated(name)).toBe(true);
    running.show(name, shown);
    expect([running.end(name), running.end(name), running.count('default')]).toEqual(['default', undefined, 0]);
  });

  it('of a claimed attempt belong to its job', () => {
    const running = claimed();
    running.claim('mj-2-1', '2');
    running.show('mj-2-1', { ...shown, jobId: '2' });
    expect([...running.jobIds()]).toEqual(['2']);
    // A claim that comes late changes nothing of a Job that runs.
    running.claim('mj-2-1', '2');
    expect([running.has('mj-2-1'), running.count('default')]).toEqual([true, 1]);
  });
});

describe('claimed attempts without a Job', () => {
  it('are kept while their job is claimed, and once their Job is requested', () => {
    const running = claimed();
    running.claim('mj-2-1', '2');
    running.beginCreation('mj-3-1', { jobId: '3', pool: 'default' });
    running.forgetUnclaimed((id) => id === '1');
    expect([name, 'mj-2-1', 'mj-3-1'].map((each) => [running.isNeverCreated(each), running.has(each)])).toEqual([
      [true, false],
      [false, false],
      [false, true],
    ]);
  });

  it('have not run for any time', () => {
    const running = claimed();
    expect([running.runningMs(name, 1_000), running.runningMs(name, 9_000)]).toEqual([0, 0]);
  });
});
