import { describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import {
  ago,
  begun,
  complete,
  condition,
  type FlatObserved,
  job,
  lostNode,
  mediaJob,
  now,
  old,
  planned,
  pod,
  queuedByKueue,
  row,
  running,
  suspended,
  unschedulable,
  waitingRow,
  withStatus,
} from '../../../testing/k8s/plan-cases.ts';

const created = (seconds: number) => ({ ...pod, metadata: { creationTimestamp: ago(seconds) } });
const deleted = (seconds: number) => ({ ...running('process'), metadata: { deletionTimestamp: ago(seconds) } });
const noPool = { pool: { name: 'gpu', spec: null } };
const shownFor = (seconds: number) =>
  withStatus({
    conditions: [{ ...condition('Progressing', 'False', 'PoolNotFound'), lastTransitionTime: ago(seconds) }],
  });
const fromKubectl = { ...mediaJob, metadata: { name: 'x', uid: row.id } };

describe('when a MediaJob is looked at again', () => {
  it.each<[string, Partial<FlatObserved>, number | undefined]>([
    ['after its Job was requested', {}, 5_000],
    ['while its Job is being created', { isJobBeingCreated: true }, undefined],
    ['when its pool has been full for 2 s', { hasCapacity: false }, 3_000],
    ['when its pool has been full for longer', { hasCapacity: false, row: old }, 15_000],
    [
      'when its pool has been full for 5 s',
      { hasCapacity: false, row: { ...row, updatedAt: new Date(now - 5_000) } },
      15_000,
    ],
    [
      'when its row seems to be of the future',
      { hasCapacity: false, row: { ...row, updatedAt: new Date(now + 9_000) } },
      5_000,
    ],
    ['when its pool is not there', noPool, 3_600_000],
    ['while the storage is away', { isStorageAway: true }, 5_000],
    [
      'when its Job is suspended since 5 s',
      { job: { ...job, isSuspended: true, metadata: created(5).metadata } },
      undefined,
    ],
    ['when its Job is suspended for longer', { job: queuedByKueue }, undefined],
    ['when its pod is new', { job, pod }, 3_000],
    ['when its pod waits without a problem', { job, pod, mediaJob: withStatus(begun) }, 15_000],
    ['when its pod has waited for 5 s', { job, pod: created(5) }, 15_000],
    ['when its pod finds no node', { job, pod: unschedulable, mediaJob: withStatus(begun) }, 60_000],
    ['shortly before the deadline', { job, pod: created(3_599.95), mediaJob: withStatus(begun) }, 100],
    ['at the deadline', { job, pod: created(3_600), mediaJob: withStatus(begun) }, 0],
    ['when its attempt has just begun', { job, pod: running('all'), runningMs: 400 }, 600],
    ['while its attempt runs', { job, pod: running('all'), mediaJob: withStatus(begun) }, undefined],
    ['while its pod is being deleted', { job, pod: deleted(-3), mediaJob: withStatus(begun) }, 8_500],
    ['when its pod should be deleted', { job, pod: deleted(5), mediaJob: withStatus(begun) }, 500],
    ['when its attempt has ended', { job, pod: { ...pod, phase: 'Succeeded' } }, 0],
    ['when it is to be adopted', { row: null, mediaJob: fromKubectl }, 0],
    ['when it shows its end', { mediaJob: complete, row: { ...row, status: 'completed' } }, 3_540_000],
    ['when it has its end', { row: { ...row, status: 'failed' } }, 3_600_000],
    ['when the database has no such job', { row: null }, 3_600_000],
    ['while it is suspended', { mediaJob: suspended }, undefined],
  ])('%s: the plan says in how many milliseconds', (_, more, requeueAfterMs) => {
    expect(planned(more).requeueAfterMs).toBe(requeueAfterMs);
  });
});

/** The message of the condition `Progressing` that a plan writes. */
function messageOf(more: Partial<FlatObserved>): string | undefined {
  const write = planned(more).actions.find((action) => action.do === 'writeStatus');
  return write?.status.conditions?.find(({ type }) => type === 'Progressing')?.message;
}

describe('what a MediaJob says of its waiting', () => {
  const away = 'The object storage does not answer: the media bucket does not answer (ECONNREFUSED)';

  it.each<[string, Partial<FlatObserved>, string]>([
    ['a slot', { row: waitingRow }, 'It waits for a slot of the RunnerPool default, whose concurrency is 1.'],
    ['a pool', { row: waitingRow, ...noPool }, 'There is no RunnerPool gpu.'],
    ['the storage', { isStorageAway: true }, `${away}; the job continues once it does.`],
    [
      'the storage, which says which units follow',
      { units: { kind: 'split', pending: null, pods: [], parallelism: 1, turn: null, next: null, isUnread: true } },
      'The object storage does not answer; the job continues once it does.',
    ],
    [
      'the storage, to be accepted',
      { isStorageAway: true, row: null, mediaJob: fromKubectl },
      `${away}; the job is accepted once it does.`,
    ],
    ['its queue', { job: queuedByKueue }, 'Its Job is suspended, as by Kueue until its queue admits the Job.'],
    ['nothing: the database has no such job', { row: null }, 'The database has no such job.'],
  ])('it waits for %s', (_, more, message) => expect(messageOf(more)).toBe(message));
});

const errorOf = (more: Partial<FlatObserved>) => planned(more).actions.find((action) => action.do === 'failJob')?.error;

describe('what a job that could not start fails with', () => {
  const late = { job, pod: created(3_600), mediaJob: withStatus(begun) };

  it('names the node that does not answer', () => {
    expect(errorOf({ ...late, unreadyNode: lostNode })?.message).toMatch(/^NodeNotReady: Its node node-1 is not ready/);
  });

  it('names the pool that is not there', () => {
    const error = errorOf({ ...noPool, mediaJob: shownFor(3_600) });
    expect(error).toEqual(jobErrorOf('resource_exhausted', 1, 'PoolNotFound: There is no RunnerPool gpu.'));
    expect(errorOf({ ...noPool, mediaJob: shownFor(3_599) })).toBeUndefined();
  });
});
