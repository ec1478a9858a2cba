import { itemStatuses, type Rollout, type RolloutCounts } from '#domain/rollouts/rollout.ts';
import { rolloutToWire } from '../wire/rollout.ts';

// Examples of what the routes of rollouts answer, made by the function that makes the answers.

const none: RolloutCounts = {
  ...(Object.fromEntries(itemStatuses.map((status) => [status, 0])) as Record<(typeof itemStatuses)[number], number>),
  bytesBefore: 0,
  bytesAfter: 0,
  scored: 0,
  scoreSum: 0,
  compared: 0,
  comparedBeforeSum: 0,
  comparedAfterSum: 0,
};
const rollout: Rollout = {
  id: '3f1c6b52-5d0e-4a43-9d5c-0c8f1f6f7a10',
  spec: {
    which: { profile: 'default' },
    to_profile: 'mobile',
    budget: { jobs: 4 },
    canary: { share: 0.02, max_failure_share: 0.05, max_bytes_ratio: 0.9 },
  },
  profile: null,
  status: 'running',
  isPaused: false,
  reason: null,
  verdict: { passed: true, failures: [] },
  isPlanned: true,
  skipped: { no_stream: 31, legal_hold: 2 },
  canary: { ...none, done: 40, bytesBefore: 7_200_000_000, bytesAfter: 4_100_000_000 },
  rest: { ...none, planned: 1_910, running: 4, done: 45, failed: 1, bytesBefore: 8.1e9, bytesAfter: 4.6e9 },
  hoursToday: 11.5,
  createdAt: new Date('2026-11-23T10:00:00Z'),
  updatedAt: new Date('2026-11-24T08:00:00Z'),
  finishedAt: null,
};
const shown = rolloutToWire(rollout);
const failure = { hash: 'movie-9', job_id: '5b2f0d3e-3d0c-4a53-8f0e-6c5d8a1f9e27', reason: 'corrupt_input' };

export const rolloutExamples = {
  Rollout: { running: { value: shown } },
  RolloutDetails: { running: { value: { ...shown, failures: [failure] } } },
  RolloutList: { page: { value: { rollouts: [shown], next_cursor: null } } },
};
