import { assert as check, boolean, constantFrom, integer, option, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFinal, jobPhases, jobStatuses } from '#domain/jobs/status.ts';
import {
  ago,
  begun,
  complete,
  condition,
  done,
  job,
  mediaJob,
  now,
  observed,
  observedOf,
  type PlanCase,
  planned,
  pod,
  published,
  row,
  running,
  settings,
  shownBy,
  suspended,
  unschedulable,
  withStatus,
} from '../../../testing/k8s/plan-cases.ts';
import { plan } from './plan.ts';

describe('the plan for a MediaJob', () => {
  it.each<PlanCase>([
    [
      'from kubectl without a row is to adopt it',
      { row: null, mediaJob: { ...mediaJob, metadata: { name: 'x', uid: 'u' } } },
      ['adopt'],
    ],
    ['of an API job without a row is to end it', { row: null }, ['writeStatus']],
    [
      'that was cancelled is to delete its Job and end',
      { job, row: { ...row, status: 'cancelled' } },
      ['deleteJob', 'writeStatus'],
    ],
    [
      'that was cancelled and whose pod has ended is to leave its Job',
      { job, pod: { ...pod, phase: 'Failed' }, row: { ...row, status: 'cancelled' } },
      ['writeStatus'],
    ],
    [
      'that was cancelled and whose pod is kept running by an added container is to delete its Job',
      { job, pod: published, row: { ...row, status: 'cancelled' } },
      ['deleteJob', 'writeStatus'],
    ],
    [
      'whose stream is encrypted is to delete the key before it shows the end',
      { job, row: { ...row, type: 'video:transcode', options: { encrypt: true }, status: 'completed' } },
      ['deleteKeys', 'writeStatus'],
    ],
    ['that is completed is one write', { job, row: { ...row, status: 'completed' } }, ['writeStatus']],
    ['that has ended is empty', { mediaJob: complete, row: { ...row, status: 'completed' } }, []],
    [
      'that has failed and shows that is to delete its Job',
      {
        job,
        mediaJob: withStatus({ completionTime: ago(60), conditions: [condition('Failed', 'True', 'Internal')] }),
        row: { ...row, status: 'failed' },
      },
      ['deleteJob'],
    ],
    [
      'whose TTL has passed is to delete it',
      { mediaJob: withStatus({ ...complete.status, completionTime: ago(3601) }), row: { ...row, status: 'completed' } },
      ['deleteMediaJob'],
    ],
    [
      'that shows an end which Postgres does not have is to delete it',
      { mediaJob: withStatus({ ...complete.status, completionTime: ago(3601) }) },
      ['deleteMediaJob'],
    ],
    [
      'that is being deleted is empty',
      { mediaJob: { ...mediaJob, metadata: { ...mediaJob.metadata, deletionTimestamp: ago(0) } } },
      [],
    ],
    [
      'that is completed and whose pod is kept running by an added container is to delete its Job',
      { job, pod: published, row: { ...row, status: 'completed' } },
      ['deleteJob', 'writeStatus'],
    ],
    [
      'that has ended and whose pod is kept running by an added container is to delete its Job',
      { job, pod: published, mediaJob: complete, row: { ...row, status: 'completed' } },
      ['deleteJob'],
    ],
  ])('the plan for a MediaJob %s', (_, more, actions) => {
    expect(done(more)).toEqual(actions);
  });

  it('a MediaJob that follows the row of another job shows it and is not requeued by time', () => {
    const follower = { ...mediaJob, metadata: { name: 'x', uid: 'another' } };
    const { requeueAfterMs, followsRow } = planned({ mediaJob: follower });
    expect([requeueAfterMs, followsRow]).toEqual([undefined, true]);
    expect(shownBy({ mediaJob: follower })).toMatchObject([{ do: 'writeStatus', status: { jobId: row.id } }]);
    expect(shownBy({ mediaJob: { ...follower, status: begun } })).toEqual([]);
  });

  it('a MediaJob that follows another job and shows an end leaves that job alone', () => {
    const follower = { ...complete, metadata: { name: 'x', uid: 'another' } };
    const more = { mediaJob: follower, job, otherJobs: [job] };
    expect(planned(more)).toEqual({ actions: [], followsRow: true });
    expect(done({ ...more, row: { ...row, status: 'failed' } })).toEqual([]);
  });

  it('a MediaJob from kubectl waits for the storage, and is adopted once it answers', () => {
    const mine = { ...mediaJob, metadata: { ...mediaJob.metadata, name: 'mine', labels: {} } };
    expect(done({ mediaJob: mine, row: null })).toEqual(['adopt']);
    const away = planned({ mediaJob: mine, row: null, isStorageAway: true });
    expect(away).toMatchObject({ requeueAfterMs: 5_000, actions: [{ do: 'writeStatus' }] });
    expect(JSON.stringify(away.actions)).toMatch(/StorageUnavailable.*media bucket/);
    const [write] = away.actions;
    const shown = write?.do === 'writeStatus' ? (write.status.conditions ?? []) : [];
    const foreign = condition('Foreign', 'True', 'Theirs');
    const afterStatus = (status: typeof mine.status) =>
      done({ mediaJob: { ...mine, ...(status === undefined ? {} : { status }) }, row: null, isStorageAway: true });
    expect(afterStatus({ conditions: [foreign, ...shown] })).toEqual([]);
    for (const other of [{}, { conditions: [foreign] }]) expect(afterStatus(other)).toEqual(['writeStatus']);
  });

  it('the plan for a MediaJob limits progress writes by the rate of all jobs, and writes problems and ends at once', () => {
    const full = { job, mayReportProgress: false };
    const limited = { ...full, pod: running('process') };
    expect(planned(limited)).toMatchObject({ actions: [{ do: 'reportPhase' }], requeueAfterMs: 10_000 });
    expect(done({ ...full, pod: { ...pod, metadata: { creationTimestamp: ago(6) } } })).toEqual([]);
    expect(done({ ...full, pod: unschedulable, mediaJob: withStatus(begun) })).toEqual([
      'writeStatus',
      'recordProblem',
    ]);
    expect(planned({ ...full, pod, mediaJob: withStatus(begun) }).requeueAfterMs).toBe(15_000);
    expect(done({ ...full, mediaJob: suspended })).toEqual(['deleteJob', 'reportPhase', 'writeStatus']);
    expect(done({ ...full, row: { ...row, status: 'completed' } })).toEqual(['writeStatus']);
  });
});

describe('for any observed state', () => {
  const anyRow = record({
    status: constantFrom(...jobStatuses),
    phase: constantFrom(null, ...jobPhases),
    attempt: integer({ min: 1, max: 3 }),
    progress: integer({ min: 0, max: 100 }),
  });
  const anyPod = option(
    constantFrom(
      pod,
      running('fetch'),
      running('publish'),
      unschedulable,
      { ...pod, phase: 'Failed' },
      { ...pod, phase: 'Succeeded' },
    ),
  );
  const anything = record({
    row: option(anyRow.map((some) => ({ ...row, ...some }))),
    job: option(constantFrom(job, { ...job, conditions: [{ type: 'Failed', status: 'True' }] })),
    pod: anyPod,
    hasCapacity: boolean(),
    isJobBeingCreated: boolean(),
    isJobNeverCreated: boolean(),
    runningMs: constantFrom(0, 1_000),
    mayReportProgress: boolean(),
    mediaJob: constantFrom(mediaJob, withStatus(begun), suspended, { ...suspended, status: begun }, complete),
    otherJobs: constantFrom([], [job]),
  });

  it('a Job is created only for a claimed row, with capacity, and never twice for an attempt', () => {
    check(
      property(anything, (seen) => {
        if (!done(seen).includes('createJob')) return;
        expect(seen.row?.status).toBe('processing');
        expect(seen.row?.phase).not.toBe('admitted');
        expect(seen.hasCapacity && !seen.isJobBeingCreated && seen.job === null).toBe(true);
        expect(seen.isJobNeverCreated).toBe(true);
        expect(seen.mediaJob.spec.suspend).not.toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('a MediaJob that has ended is never written again, and is deleted after its TTL or where its job has not ended', () => {
    check(
      property(anything, boolean(), (seen, isOld) => {
        const at = isOld ? now + 2 * settings.mediaJobTtlMs : now;
        const actions = plan(observedOf({ ...observed, ...seen, mediaJob: complete }), at, settings).actions.map(
          (each) => each.do,
        );
        expect(actions).not.toContain('writeStatus');
        const isActive = seen.row !== null && !isFinal(seen.row.status);
        // It shows an end that Postgres does not have: the job continues in a new one.
        expect(actions.includes('deleteMediaJob')).toBe(isActive || isOld);
      }),
      { numRuns: 1000 },
    );
  });

  it('a status is not written again once it was observed', () => {
    check(
      property(anything, (seen) => {
        const first = plan(observedOf({ ...observed, ...seen }), now, settings).actions.find(
          (each) => each.do === 'writeStatus',
        );
        if (first === undefined) return;
        const after = { ...seen.mediaJob, status: { ...seen.mediaJob.status, ...first.status } };
        const isMade = done(seen).includes('createJob');
        const made = isMade ? { job, pod: null, isJobNeverCreated: false } : {};
        const next = { ...seen, ...made, mediaJob: after, sinceWrittenMs: 0 };
        expect(
          plan(observedOf({ ...observed, ...next }), now + 1000, settings).actions.map((each) => each.do),
        ).not.toContain('writeStatus');
      }),
      { numRuns: 2000 },
    );
  });
});
