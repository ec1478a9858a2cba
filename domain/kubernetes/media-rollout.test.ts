import { describe, expect, it } from 'vitest';
import type { RolloutCounts } from '../rollouts/rollout.ts';
import { outlineOfRollout, readMediaRollout } from './media-rollout.ts';

const items = { planned: 1, running: 2, done: 3, failed: 4, skipped: 5, rolled_back: 6, kept: 7 };
const noScores = { scored: 0, scoreSum: 0, compared: 0, comparedBeforeSum: 0, comparedAfterSum: 0 };
const counts: RolloutCounts = { ...items, ...noScores, bytesBefore: 30, bytesAfter: 10 };

describe('a MediaRollout', () => {
  it('a MediaRollout is a rollout with the defaults of the API, and what it asks for', () => {
    expect(readMediaRollout({ to_profile: 'small', canary: { share: 0.1 }, paused: true })).toEqual({
      spec: {
        which: {},
        to_profile: 'small',
        budget: { jobs: 1 },
        canary: { share: 0.1, max_failure_share: 0.05 },
      },
      isPaused: true,
      isRolledBack: false,
    });
  });

  it.each([
    [{}, false, false],
    [{ paused: false, rollback: true }, false, true],
    [{ paused: true, rollback: false }, true, false],
  ])('one with %j is paused: %s, and rolled back: %s', (asked, isPaused, isRolledBack) => {
    expect(readMediaRollout({ to_profile: 'small', ...asked })).toMatchObject({ isPaused, isRolledBack });
  });

  it('a MediaRollout shows its phase, the items of both groups, the bytes that they saved and their mean score', () => {
    const both = Object.fromEntries(Object.entries(items).map(([status, count]) => [status, 2 * count]));
    const outline = { phase: 'running', ...both, bytes_saved: 40 };
    expect(outlineOfRollout({ status: 'running', canary: counts, rest: counts })).toEqual(outline);
    const scored = { ...counts, scored: 2, scoreSum: 190 };
    expect(outlineOfRollout({ status: 'running', canary: scored, rest: counts })).toEqual({ ...outline, score: 95 });
  });

  it('C32.17: every fault of a MediaRollout is reported at once, with the fields of the object', () => {
    const read = readMediaRollout({ budget: { jobs: 0 }, which: { hash_prefix: '/' }, canary: {} });
    if (!('faults' in read)) throw new Error('it has faults');
    expect(read.faults.map((fault) => fault.split(':')[0])).toEqual([
      'spec.which.hash_prefix',
      'spec.to_profile',
      'spec.budget.jobs',
      'spec.canary.share',
    ]);
    expect(read.faults).toContain('spec.budget.jobs: must be at least 1');
  });
});
