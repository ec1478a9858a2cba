import { expect, it } from 'vitest';
import { type Rollout, type RolloutStatus, rolloutStatuses } from '#domain/rollouts/rollout.ts';
import { rolloutConditions } from './rollout-conditions.ts';

const accepted = (status: RolloutStatus) => {
  const rollout = { status, reason: 'The canary failed: too large.' } as Rollout;
  const conditions = rolloutConditions({ rollout, reason: 'Accepted', message: 'Workers make it.' });
  return Object.entries(conditions).flatMap(([type, { status: value }]) => (value === 'True' ? [type] : []));
};

it('a MediaRollout has Succeeded only where all was made, and Failed as soon as it is rolled back or cancelled', () => {
  expect(Object.fromEntries(rolloutStatuses.map((status) => [status, accepted(status).slice(1)]))).toEqual({
    canary: [],
    running: [],
    cancelling: ['Failed'],
    rolling_back: ['Failed'],
    completed: ['Succeeded'],
    cancelled: ['Failed'],
    rolled_back: ['Failed'],
  });
});

it('the condition Failed says why, and Accepted stays without the reason of the end', () => {
  const rollout = { status: 'rolled_back', reason: 'The canary failed: too large.' } as Rollout;
  expect(rolloutConditions({ rollout, reason: 'Accepted', message: 'Workers make it.' })).toEqual({
    Accepted: { status: 'True', reason: 'Accepted', message: 'Workers make it.' },
    Succeeded: { status: 'False', reason: 'RolledBack', message: '' },
    Failed: { status: 'True', reason: 'RolledBack', message: 'The canary failed: too large.' },
  });
});

it('a MediaRollout that is refused has failed; one whose spec was changed goes on as it began', () => {
  const refused = rolloutConditions({ rollout: null, reason: 'Invalid', message: 'spec.to_profile: is unknown' });
  expect(refused.Failed).toEqual({ status: 'True', reason: 'Invalid', message: 'spec.to_profile: is unknown' });
  const rollout = { status: 'running', reason: null } as Rollout;
  const changed = rolloutConditions({ rollout, reason: 'SpecChanged', message: 'It began otherwise.' });
  expect([changed.Accepted.status, changed.Failed.status]).toEqual(['False', 'False']);
});
