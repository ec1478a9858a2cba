import { expect, it } from 'vitest';
import type { WaitingJobs } from '#platform/postgres/pool-store.ts';
import { poolTasksOf } from './pool-tasks.ts';

const depths = { default: { pending: 10, retry: 3 }, 'video:large': { pending: 1, retry: 0 } };
const waiting = (pool: string | null, more: Partial<WaitingJobs> = {}): WaitingJobs => ({
  pool,
  queue: 'default',
  pending: 0,
  retry: 0,
  oldestSeconds: null,
  ...more,
});
const jobs = [
  waiting('gpu', { pending: 4, retry: 2, oldestSeconds: 50 }),
  waiting('gpu', { queue: 'video:large', pending: 3, oldestSeconds: 90 }),
  waiting('default', { pending: 1, oldestSeconds: 5 }),
  waiting(null, { oldestSeconds: 7 }),
];

it.each([
  ['the pool of a queue has its tickets, and the age of its own jobs', 'default', 10, 3, 7],
  ['a pool of another name has the jobs that name it, of every queue', 'gpu', 7, 2, 90],
  ['a pool that no job names has none', 'idle', 0, 0, 0],
])('%s', (_, name, pending, retry, oldestSeconds) => {
  expect(poolTasksOf(name, { depths, jobs })).toEqual({ pending, retry, oldestSeconds });
});
