import { describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import {
  ago,
  begun,
  condition,
  done,
  job,
  mediaJob,
  now,
  old,
  type PlanCase,
  planned,
  pod,
  queuedByKueue,
  row,
  shownBy,
  stalled,
  unschedulable,
  waitingRow,
  withStatus,
} from '../../../testing/k8s/plan-cases.ts';

describe('the plan for a MediaJob', () => {
  it.each<PlanCase>([
    ['with a claimed row and no Job is to create the Job', {}, ['createJob']],
    ['whose pool is full is to wait', { hasCapacity: false }, []],
    ['whose Job is being created is to wait', { isJobBeingCreated: true }, []],
    [
      'from kubectl whose row waits for admission is to show that once',
      {
        mediaJob: { ...mediaJob, metadata: { name: 'x', uid: row.id, creationTimestamp: ago(6) } },
        row: waitingRow,
      },
      ['writeStatus'],
    ],
    ['whose row waits for admission is empty', { row: { ...row, status: 'queued', phase: null } }, []],
    ['whose row waits for its next attempt is empty', { row: { ...row, phase: 'admitted', attempt: 2 } }, []],
    ['whose pool is full for longer is to show that', { row: old, hasCapacity: false }, ['writeStatus']],
    ['whose pod is new and pending is to wait', { job, pod }, []],
    [
      'whose pod is pending for longer is to show the attempt',
      { job, pod: { ...pod, metadata: { creationTimestamp: ago(6) } } },
      ['writeStatus'],
    ],
    ['whose pod is pending without a problem is empty', { job, pod, mediaJob: withStatus(begun) }, []],
    [
      'whose pod finds no node is to show and record the problem',
      { job, pod: unschedulable, mediaJob: withStatus(begun) },
      ['writeStatus', 'recordProblem'],
    ],
    [
      'whose pod is pending past the deadline is to fail the job',
      { job, pod: { ...unschedulable, metadata: { creationTimestamp: ago(3601) } }, mediaJob: withStatus(begun) },
      ['failJob'],
    ],
    [
      'whose pool is missing is to show and record the problem',
      { pool: { name: 'x', spec: null } },
      ['writeStatus', 'recordProblem'],
    ],
    [
      'whose next step cannot start after a step has ended is to show and record the problem',
      { job, pod: stalled(6), mediaJob: withStatus(begun) },
      ['writeStatus', 'recordProblem'],
    ],
    [
      'whose next step has not started within the deadline is to fail the job',
      { job, pod: stalled(3_601), mediaJob: withStatus(begun) },
      ['failJob'],
    ],
    [
      'whose Job is suspended past the deadline is to show that',
      { job: queuedByKueue },
      ['reportPhase', 'writeStatus'],
    ],
    [
      'whose Job was suspended past the deadline and is resumed is to wait',
      {
        job: { ...queuedByKueue, isSuspended: false, resumedAt: ago(30) },
        mediaJob: withStatus(begun),
      },
      [],
    ],
    [
      'whose pod has waited for 5 s with outdated settings is to replace its Job',
      { job, pod: { ...pod, metadata: { creationTimestamp: ago(5) } }, isOutdated: true, mediaJob: withStatus(begun) },
      ['deleteJob'],
    ],
    [
      'whose row waits while the object storage is away is to show that',
      { row: { ...row, phase: 'admitted', attempt: 2 }, isStorageAway: true },
      ['writeStatus'],
    ],
    [
      'whose Job is not created while the object storage is away is to show that',
      { isStorageAway: true },
      ['writeStatus'],
    ],
    [
      'whose pool is missing after a change of the leader is to start no other attempt',
      { pool: { name: 'x', spec: null }, isJobNeverCreated: false },
      ['writeStatus', 'recordProblem'],
    ],
    [
      'whose pool is missing past the deadline is to fail the job',
      {
        pool: { name: 'x', spec: null },
        mediaJob: withStatus({
          conditions: [{ ...condition('Progressing', 'False', 'PoolNotFound'), lastTransitionTime: ago(3_601) }],
        }),
      },
      ['failJob'],
    ],
  ])('the plan for a MediaJob %s', (_, more, actions) => {
    expect(done(more)).toEqual(actions);
  });

  it('the plan for a MediaJob shows a Job that Kueue has suspended as suspended', () => {
    expect(shownBy({ job: queuedByKueue })).toMatchObject([
      { do: 'reportPhase', phase: 'suspended' },
      {
        status: { phase: 'suspended', conditions: [{ type: 'Progressing', status: 'False', reason: 'JobSuspended' }] },
      },
    ]);
  });

  it('the plan for a MediaJob whose Job was resumed and whose pod cannot be created does not show it as suspended', () => {
    const resumed = { job: { ...job, metadata: { creationTimestamp: ago(60) } } };
    const suspended = { ...row, phase: 'suspended' as const };
    expect(shownBy({ ...resumed, row: suspended, podCreationFailure: 'denied' })).toMatchObject([
      { do: 'reportPhase', phase: 'scheduling' },
      { status: { phase: 'scheduling', conditions: [{ reason: 'FailedCreate' }] } },
      { do: 'recordProblem' },
    ]);
  });

  it('the plan for a MediaJob shows a job that waits for the storage as queued', () => {
    expect(shownBy({ isStorageAway: true })).toMatchObject([
      { status: { phase: 'queued', conditions: [{ reason: 'StorageUnavailable' }] } },
    ]);
  });

  it('the plan for a MediaJob shows a job that waits for a slot as queued', () => {
    expect(shownBy({ row: waitingRow })).toMatchObject([
      {
        status: {
          phase: 'queued',
          conditions: [{ reason: 'Queued', message: expect.stringContaining('default, whose concurrency is 1') }],
        },
      },
    ]);
  });

  it('the plan for a MediaJob keeps the phase of a job whose next step cannot start', () => {
    const late = { job, pod: stalled(6), row: { ...row, phase: 'encoding' as const }, mediaJob: withStatus(begun) };
    expect(shownBy(late)).toMatchObject([
      { status: { phase: 'encoding', conditions: [{ status: 'False', reason: 'CreateContainerConfigError' }] } },
      { do: 'recordProblem' },
    ]);
    expect(shownBy({ ...late, row: { ...row, phase: null } })).toMatchObject([
      { status: { phase: 'scheduling' } },
      { do: 'recordProblem' },
    ]);
  });

  it('the plan for a MediaJob counts the deadline of a missing pool from when it was first missing', () => {
    const actions = shownBy({
      pool: { name: 'x', spec: null },
      mediaJob: withStatus({
        conditions: [{ ...condition('Progressing', 'False', 'Queued'), lastTransitionTime: ago(9_000) }],
      }),
    });
    expect(actions).toMatchObject([
      { status: { conditions: [{ reason: 'PoolNotFound', lastTransitionTime: new Date(now).toISOString() }] } },
      { do: 'recordProblem' },
    ]);
  });

  it('the plan for a MediaJob fails a job whose image cannot be pulled with that reason in its message', () => {
    const waiting = { reason: 'ErrImagePull', message: 'not found' };
    const late = {
      ...pod,
      metadata: { creationTimestamp: ago(3601) },
      containers: [{ name: 'fetch', isRunning: false, waiting }],
    };
    expect(shownBy({ job, pod: late, mediaJob: withStatus(begun) })).toEqual([
      { do: 'failJob', error: jobErrorOf('internal', 1, 'ErrImagePull: fetch: not found') },
    ]);
  });

  it('the plan for a MediaJob shows a problem in phase, condition and Event', () => {
    const actions = shownBy({
      job: { ...job, metadata: { ...job.metadata, creationTimestamp: ago(10) } },
      podCreationFailure: 'exceeded quota: q',
      mediaJob: withStatus(begun),
    });
    expect(actions).toMatchObject([
      {
        do: 'writeStatus',
        status: {
          phase: 'quota_exceeded',
          conditions: [{ type: 'Progressing', status: 'False', reason: 'QuotaExceeded' }],
        },
      },
      { do: 'recordProblem', problem: { reason: 'QuotaExceeded', message: 'exceeded quota: q' } },
    ]);
  });

  it('the plan for a MediaJob requeues a pending pod in time for the deadline', () => {
    const late = { ...unschedulable, metadata: { creationTimestamp: ago(3590) } };
    expect(planned({ job, pod: late, mediaJob: withStatus(begun) }).requeueAfterMs).toBe(10_000);
  });
});
