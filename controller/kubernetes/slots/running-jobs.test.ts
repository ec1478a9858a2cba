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

  it('are fewer as the cache shows them, which frees slots', () => {
    const running = new RunningJobs();
    expect(running.show(name, { ...shown, pods: 3 })).toBe(false);
    expect(running.show(name, { ...shown, pods: 3 })).toBe(false);
    expect(running.show(name, { ...shown, mayRun: false, pods: 2 })).toBe(true);
    expect([running.podsOf(name), running.count('default')]).toEqual([2, 2]);
    expect(running.show(name, shown)).toBe(true);
    expect(running.podsOf(name)).toBe(1);
  });
});
