import { expect, it } from 'vitest';
import type { MediaJob, RunnerPool } from '#platform/kubernetes/objects.ts';
import { PoolProblems } from './pool-problems.ts';
import { isSizedByOthers } from './pool-size.ts';

const shows = (pool: string, status: 'True' | 'False', reason: string): MediaJob => ({
  spec: { type: 'video:cover', hash: 'h', source: 's' },
  status: { pool, conditions: [{ type: 'Progressing', status, reason, message: '', lastTransitionTime: '' }] },
});

it('a pool shows its last problem as long as one of its MediaJobs does, and the problem of a batch before', () => {
  const problems = new PoolProblems();
  const waiting = shows('gpu', 'False', 'Unschedulable');
  expect(problems.lastOf('gpu', [waiting], null)).toBe('');
  problems.note('gpu', { reason: 'ImagePullBackOff', message: 'earlier' });
  problems.note('gpu', { reason: 'Unschedulable', message: 'no node' });
  problems.note('default', { reason: 'Unschedulable', message: 'of another pool' });
  expect(problems.lastOf('gpu', [waiting], null)).toBe('Unschedulable: no node');
  for (const others of [
    [],
    [shows('default', 'False', 'Unschedulable')],
    [shows('gpu', 'True', 'Unschedulable')],
    [shows('gpu', 'False', 'ImagePullBackOff')],
  ])
    expect(problems.lastOf('gpu', others, null)).toBe('');
  problems.ofBatches.set('b', { pool: 'gpu', reason: 'QuotaExceeded', message: 'no pods' });
  expect(problems.lastOf('gpu', [waiting], null)).toBe('QuotaExceeded: no pods');
  expect(problems.lastOf('default', [], null)).toBe('');
});

it('a pool shows an outage of the storage, which keeps every job from running, before anything else', () => {
  const problems = new PoolProblems();
  problems.ofBatches.set('b', { pool: 'gpu', reason: 'QuotaExceeded', message: 'no pods' });
  const outage = problems.lastOf('gpu', [], 'connect ECONNREFUSED of the bucket media');
  expect(outage).toBe(
    'StorageUnavailable: The object storage does not answer: connect ECONNREFUSED of the bucket media',
  );
});

it.each([
  ['the settings', 'reelwright-pool-size', 'f:concurrency', false],
  ['an earlier version of the controller', 'reelwright-controller', 'f:concurrency', false],
  ['kubectl scale', 'kubectl', 'f:concurrency', true],
  ['another client that set another field', 'kubectl', 'f:nodeSelector', false],
])('whoever sets the concurrency sizes a pool: %s', (_, manager, field, isSized) => {
  const own = { manager: 'reelwright-controller', fieldsV1: { 'f:spec': { 'f:scratch': {} } } };
  const managedFields = [own, { manager, fieldsV1: { 'f:spec': { [field]: {} } } }, { manager: 'x', fieldsV1: {} }];
  expect(isSizedByOthers({ metadata: { managedFields } } as unknown as RunnerPool)).toBe(isSized);
});
