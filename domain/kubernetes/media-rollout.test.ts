import { describe, expect, it } from 'vitest';
import { readMediaRollout } from './media-rollout.ts';

describe('a MediaRollout', () => {
  it('a MediaRollout is a rollout with the defaults of the API, and what it asks for', () => {
    expect(readMediaRollout({ to_profile: 'small', canary: { share: 0.1 }, paused: true })).toEqual({
      spec: {
        which: {},
        to_profile: 'small',
        budget: { jobs: 1, cores_per_job: 1 },
        canary: { share: 0.1, max_failure_share: 0.05 },
      },
      isPaused: true,
      isRolledBack: false,
    });
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
  });
});
