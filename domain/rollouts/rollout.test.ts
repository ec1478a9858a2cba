import { expect, it } from 'vitest';
import { around, describeDocuments } from '../../testing/document-cases.ts';
import {
  activeStatuses,
  isBeginning,
  rerunReasonOf,
  rolloutListQuerySchema,
  rolloutRequestSchema,
  rolloutStatuses,
  statusesBefore,
} from './rollout.ts';
import { rolloutPriority } from '../jobs/ticket.ts';

const request = {
  which: {
    hash_prefix: 'movie-',
    profile: 'default',
    made_before: '2026-05-01T00:00:00+02:00',
    tool_version: '1.4.0',
  },
  to_profile: `a${'-'.repeat(61)}z`,
  budget: { jobs: 1000, hours_per_day: 1_000_000 },
  canary: { share: 1, max_failure_share: 0, max_bytes_ratio: 100, min_score: 0 },
};

describeDocuments({
  'a request for a rollout': {
    read: (json) => rolloutRequestSchema.parse(JSON.parse(json)),
    valid: request,
    faults: [
      ['which.hash_prefix', ''],
      ['which.hash_prefix', 'a..b'],
      ['which.profile', 'A'],
      ['which.made_before', '2026-05-01'],
      ['which.made_before', '2026-05-01T00:00:00'],
      ...around('which.tool_version', '1.4'),
      ['which.tool_version', '1.4'],
      ['which.tool_version', `1.4.0-${'a'.repeat(60)}`],
      ['which.tool_version_before', '1.4.0'],
      ['which.more', 1],
      ['to_profile', undefined],
      ['to_profile', ''],
      ['to_profile', 'a'.repeat(64)],
      ['to_profile', '-a'],
      ['to_profile', 'a-'],
      ['to_profile', 'a_b'],
      ['budget.jobs', 0],
      ['budget.jobs', 1001],
      ['budget.jobs', 1.5],
      ['budget.hours_per_day', 0],
      ['budget.hours_per_day', 1_000_001],
      ['budget.cores_per_job', 1],
      ['budget.more', 1],
      ['canary.share', undefined],
      ['canary.share', 0],
      ['canary.share', 1.01],
      ['canary.max_failure_share', -0.01],
      ['canary.max_failure_share', 1.01],
      ['canary.max_bytes_ratio', 0],
      ['canary.max_bytes_ratio', 101],
      ['canary.min_score', -1],
      ['canary.min_score', 101],
      ['canary.max_score_drop', 1],
      ['canary.more', 1],
      ['more', 1],
    ],
  },
  'a request with what it must have': {
    read: (json) => rolloutRequestSchema.parse(JSON.parse(json)),
    valid: { to_profile: 'a', canary: { share: 0.1 } },
    gives: {
      to_profile: 'a',
      which: {},
      budget: { jobs: 1 },
      canary: { share: 0.1, max_failure_share: 0.05 },
    },
    faults: [],
  },
  'the query of a list': {
    read: (json) => rolloutListQuerySchema.parse(JSON.parse(json)),
    valid: { limit: '100', cursor: 'c'.repeat(512) },
    gives: { limit: 100, cursor: 'c'.repeat(512) },
    faults: [
      ['limit', '0'],
      ['limit', '101'],
      ['limit', '1.5'],
      ['limit', 'x'],
      ['cursor', 'c'.repeat(513)],
      ['more', '1'],
    ],
  },
});

it('each status of a rollout is reached from these, and none from itself', () => {
  expect(Object.fromEntries(rolloutStatuses.map((status) => [status, statusesBefore(status)]))).toEqual({
    canary: [],
    running: ['canary'],
    cancelling: ['canary', 'running'],
    rolling_back: ['canary', 'running', 'cancelling', 'completed', 'cancelled'],
    completed: ['running'],
    cancelled: ['cancelling'],
    rolled_back: ['rolling_back'],
  });
});

it('a worker has something to do until a rollout has ended, and begins reruns in two statuses', () => {
  expect(activeStatuses).toEqual(['canary', 'running', 'cancelling', 'rolling_back']);
  expect(rolloutStatuses.filter((status) => isBeginning({ status }))).toEqual(['canary', 'running']);
});

it('a rerun of a rollout comes after every other job, and names it', () => {
  expect([rolloutPriority, rerunReasonOf('r1')]).toEqual([-1000, 'rollout r1']);
});

it.each([
  [{ to_profile: 'A' }, 'must be the name of a profile'],
  [{ to_profile: 'a', which: { tool_version: '1' } }, 'must be a version, such as 1.4.0'],
  [{ to_profile: 'a', canary: { share: 0 } }, 'must be more than 0'],
])('the fault of %j says what is right', (body, message) => {
  expect(rolloutRequestSchema.safeParse(body).error?.issues).toMatchObject([{ message }]);
});
