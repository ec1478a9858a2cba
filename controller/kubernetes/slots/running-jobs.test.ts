import { describe, expect, it } from 'vitest';
import { RunningJobs } from './running-jobs.ts';

const claimed = () => {
  const working = new RunningJobs();
  working.claim('mj-1-1', '1');
  return working;
};

describe('the Jobs that are at work', () => {
  it('are surely unmade only where their attempt was claimed here', () => {
    expect(new RunningJobs().isUnmade('mj-1-1')).toBe(false);
    expect(claimed().isUnmade('mj-1-1')).toBe(true);
  });

  it('are made once they are asked for, also when they have ended', () => {
    const working = claimed();
    working.begin('mj-1-1', 'default');
    expect(working.isUnmade('mj-1-1')).toBe(false);
    expect(working.isUnderway('mj-1-1')).toBe(true);
    working.settleCreation('mj-1-1');
    expect(working.end('mj-1-1')).toBe('default');
    expect(working.isUnmade('mj-1-1')).toBe(false);
  });

  it('may be asked for again when they were refused, and take no room meanwhile', () => {
    const working = claimed();
    working.begin('mj-1-1', 'default');
    working.fail('mj-1-1', '1');
    expect([working.isUnmade('mj-1-1'), working.isUnderway('mj-1-1'), working.count('default')]).toEqual([
      true,
      false,
      0,
    ]);
  });

  it('are forgotten when their job is not wanted any more', () => {
    const working = claimed();
    working.forgetUnmade(() => false);
    expect(working.isUnmade('mj-1-1')).toBe(false);
  });

  it('count how long they have been seen at work', () => {
    const working = claimed();
    working.begin('mj-1-1', 'default');
    expect(working.seenAtWorkMs('mj-1-1', 1_000)).toBe(0);
    expect(working.seenAtWorkMs('mj-1-1', 2_500)).toBe(1_500);
  });
});
