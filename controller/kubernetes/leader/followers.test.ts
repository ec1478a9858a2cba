import { describe, expect, it } from 'vitest';
import { Followers } from './followers.ts';

const row = (id: string, progress = 0) => ({ id, status: 'processing' as const, attempt: 1, progress });

describe('the register of following MediaJobs', () => {
  it('the register of following MediaJobs names each followed row once, however many MediaJobs follow it', () => {
    const followers = new Followers();
    for (let n = 0; n < 100; n += 1) followers.follow(`r/same-${n}`, row('a'));
    followers.follow('r/other', row('b'));
    expect(followers.jobIds()).toEqual(['a', 'b']);
  });

  it('the register of following MediaJobs reports the MediaJobs whose row has changed or is absent', () => {
    const followers = new Followers();
    followers.follow('r/unchanged', row('a'));
    followers.follow('r/changed', row('b'));
    followers.follow('r/absent', row('c'));
    expect(followers.changed([row('a'), row('b', 50)])).toEqual(['r/changed', 'r/absent']);
  });

  it('the register of following MediaJobs forgets a MediaJob that no longer follows a row', () => {
    const followers = new Followers();
    followers.follow('r/x', row('a'));
    followers.forget('r/x');
    expect(followers.jobIds()).toEqual([]);
  });
});
