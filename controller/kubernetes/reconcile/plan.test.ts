import { assert as check, boolean, constantFrom, integer, option, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { isFinal, jobPhases, jobStatuses } from '#domain/jobs/status.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { labels } from '../manifests/names.ts';
import type { Action, Observed } from './observed.ts';
import { plan } from './plan.ts';
import type { JobSnapshot, PodSnapshot } from '../snapshots.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const settings = { pendingDeadlineMs: 3_600_000, mediaJobTtlMs: 3_600_000 };
const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';

const row: Job = {
  id,
  type: 'video:cover',
  hash: 'h',
  source: 's',
  options: {},
  status: 'processing',
  phase: 'scheduling',
  progress: 0,
  eta: null,
  attempt: 1,
  failures: 0,
  queue: 'default',
  sourceSizeBytes: null,
  sourceEtag: null,
  profile: null,
  callbackUrl: null,
  callbackStatus: null,
  retryOfJobId: null,
  error: null,
  results: null,
  trace: null,
  createdAt: new Date(0),
  updatedAt: new Date(now - 2_000),
  startedAt: null,
  finishedAt: null,
  disruptions: 0,
  waitingReason: null,
  pool: null,
  priority: 0,
};
const old: Job = { ...row, updatedAt: new Date(now - 6_000) };
const waitingRow: Job = { ...old, status: 'queued', phase: null };
const lostNode = { metadata: { name: 'node-1' }, unreadyBecause: 'Kubelet stopped posting node status.' };
const begun = { attempt: 1, jobId: id, conditions: [condition('Progressing', 'True', 'AttemptBegun')] };
const mediaJob: MediaJob = {
  metadata: { name: `mj-${id}`, namespace: 'r', uid: 'u', generation: 1, labels: { [labels.jobId]: id } },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
};
const job: JobSnapshot = {
  metadata: { name: `mj-${id}-1`, creationTimestamp: ago(2) },
  isSuspended: false,
  conditions: [],
  hasPod: true,
};
const pod: PodSnapshot = {
  metadata: { creationTimestamp: ago(2) },
  phase: 'Pending',
  reason: '',
  message: '',
  conditions: [],
  containers: [],
  hasRunningSidecar: false,
};
const observed: Observed = {
  mediaJob,
  row,
  film: null,
  job: null,
  isJobBeingCreated: false,
  isJobNeverCreated: true,
  runningMs: 5_000,
  otherJobs: [],
  pod: null,
  unreadyNode: null,
  hasCapacity: true,
  podCreationFailure: null,
  isOutdated: false,
  isStorageAway: false,
  pool: { name: 'default', spec: { concurrency: 1 } },
  sinceWrittenMs: Infinity,
  mayReportProgress: true,
};

function condition(type: string, status: 'True' | 'False', reason: string) {
  return { type, status, reason, message: '', lastTransitionTime: ago(60) };
}
const withStatus = (status: NonNullable<MediaJob['status']>, more: Partial<MediaJob> = {}): MediaJob => ({
  ...mediaJob,
  ...more,
  status,
});
const suspended = { ...mediaJob, spec: { ...mediaJob.spec, suspend: true } };
const running = (name: string): PodSnapshot => ({ ...pod, phase: 'Running', containers: [{ name, isRunning: true }] });
const unschedulable = {
  ...pod,
  metadata: { creationTimestamp: ago(10) },
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
};
const fetched = (seconds: number) => ({
  name: 'fetch',
  isRunning: false,
  terminated: { exitCode: 0, reason: 'Completed', message: '', finishedAt: ago(seconds) },
});
const missingSecret = {
  name: 'process',
  isRunning: false,
  waiting: { reason: 'CreateContainerConfigError', message: 'secret "key" not found' },
};
const stalled = (seconds: number): PodSnapshot => ({
  ...pod,
  metadata: { creationTimestamp: ago(40) },
  containers: [fetched(seconds), missingSecret],
});
const queuedByKueue: JobSnapshot = {
  ...job,
  metadata: { ...job.metadata, creationTimestamp: ago(3_660) },
  isSuspended: true,
  hasPod: false,
};
const published: PodSnapshot = {
  ...pod,
  phase: 'Running',
  containers: [{ ...fetched(1), name: 'publish' }],
  hasRunningSidecar: true,
};
const complete = withStatus({
  phase: 'completed',
  completionTime: ago(60),
  conditions: [condition('Complete', 'True', 'Completed')],
});

const planned = (more: Partial<Observed>) => plan({ ...observed, ...more }, now, settings);
/** The codes that are recorded for callers of the API. */
const recordsOf = (more: Partial<Observed>) =>
  planned(more).actions.flatMap((action) => (action.do === 'recordWaiting' ? [action.reason?.code] : []));
/** What is reported to callers of the API has tests of its own. */
const shownBy = (more: Partial<Observed>) => planned(more).actions.filter((action) => action.do !== 'recordWaiting');
const done = (more: Partial<Observed>) => shownBy(more).map((action) => action.do);

describe('the plan for a MediaJob', () => {
  const cases: [string, Partial<Observed>, Action['do'][]][] = [
    ['with a claimed row and no Job is to create the Job', {}, ['createJob']],
    ['whose pool is full is to wait', { hasCapacity: false }, []],
    ['whose Job is being created is to wait', { isJobBeingCreated: true }, []],
    [
      'from kubectl whose row waits for admission is to show that once',
      {
        mediaJob: { ...mediaJob, metadata: { name: 'x', uid: id, creationTimestamp: ago(6) } },
        row: waitingRow,
      },
      ['writeStatus'],
    ],
    [
      'from kubectl that is new is to wait before it shows that it is queued',
      {
        mediaJob: { ...mediaJob, metadata: { name: 'x', uid: id, creationTimestamp: ago(1) } },
        row: { ...row, status: 'queued', phase: null },
      },
      [],
    ],
    ['whose row waits for admission is empty', { row: { ...row, status: 'queued', phase: null } }, []],
    ['whose row waits for its next attempt is empty', { row: { ...row, phase: 'admitted', attempt: 2 } }, []],
    [
      'whose row waits for its next attempt for longer is to show that',
      { row: { ...waitingRow, status: 'processing', phase: 'admitted', attempt: 2 }, mediaJob: withStatus(begun) },
      ['writeStatus'],
    ],
    ['whose pool is full for longer is to show that', { row: old, hasCapacity: false }, ['writeStatus']],
    [
      'whose pod runs on a node that does not answer is to show and record that',
      { job, pod: running('process'), unreadyNode: lostNode, mediaJob: withStatus(begun) },
      ['writeStatus', 'recordProblem'],
    ],
    [
      'from kubectl without a row is to adopt it',
      { row: null, mediaJob: { ...mediaJob, metadata: { name: 'x', uid: 'u' } } },
      ['adopt'],
    ],
    ['of an API job without a row is to end it', { row: null }, ['writeStatus']],
    [
      'whose Job was deleted is another attempt',
      { mediaJob: withStatus(begun), isJobNeverCreated: false },
      ['concludeAttempt'],
    ],
    [
      'whose Job may have been created and deleted is another attempt',
      { isJobNeverCreated: false },
      ['concludeAttempt'],
    ],
    ['whose pod has just started is to wait: it may end in a moment', { job, pod: running('all'), runningMs: 0 }, []],
    [
      'whose pod has run for a second is to show that',
      { job, pod: running('all'), runningMs: 1000 },
      ['reportPhase', 'writeStatus'],
    ],
    ['whose pod is new and pending is to wait', { job, pod }, []],
    [
      'whose pod is pending for longer is to show the attempt',
      { job, pod: { ...pod, metadata: { creationTimestamp: ago(6) } } },
      ['writeStatus'],
    ],
    [
      'whose pod runs is to report its phase',
      { job, pod: running('process'), mediaJob: withStatus(begun) },
      ['reportPhase'],
    ],
    [
      'whose pod is at the phase of the row is empty',
      { job, pod: running('fetch'), row: { ...row, phase: 'probing' }, mediaJob: withStatus(begun) },
      [],
    ],
    [
      'whose runner has reported more than its pod shows is empty',
      { job, pod: running('publish'), row: { ...row, phase: 'publishing' }, mediaJob: withStatus(begun) },
      [],
    ],
    [
      'whose progress has grown is to write it',
      { job, pod: running('fetch'), row: { ...row, phase: 'probing', progress: 5 }, mediaJob: withStatus(begun) },
      ['writeStatus'],
    ],
    [
      'whose progress was written a second ago is empty',
      {
        job,
        pod: running('fetch'),
        row: { ...row, phase: 'probing', progress: 50 },
        mediaJob: withStatus(begun),
        sinceWrittenMs: 1000,
      },
      [],
    ],
    [
      'whose pod has ended is to conclude the attempt',
      { job, pod: { ...pod, phase: 'Succeeded' }, mediaJob: withStatus(begun) },
      ['concludeAttempt'],
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
      'that is suspended is to delete its Job',
      { job, pod, mediaJob: { ...suspended, status: begun } },
      ['deleteJob', 'reportPhase', 'writeStatus'],
    ],
    ['that was suspended from the start is to show that', { mediaJob: suspended }, ['reportPhase', 'writeStatus']],
    [
      'whose pool is missing is to show and record the problem',
      { pool: { name: 'x', spec: null } },
      ['writeStatus', 'recordProblem'],
    ],
    ['with a Job of an earlier attempt is to delete that Job', { otherJobs: [job], hasCapacity: false }, ['deleteJob']],
    [
      'that was cancelled is to delete its Job and end',
      { job, row: { ...row, status: 'cancelled' } },
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
      'whose TTL has passed is to delete it',
      { mediaJob: withStatus({ ...complete.status, completionTime: ago(3601) }), row: { ...row, status: 'completed' } },
      ['deleteMediaJob'],
    ],
    [
      'whose TTL has passed before Postgres has the end is empty',
      { mediaJob: withStatus({ ...complete.status, completionTime: ago(3601) }) },
      [],
    ],
    [
      'that is being deleted is empty',
      { mediaJob: { ...mediaJob, metadata: { ...mediaJob.metadata, deletionTimestamp: ago(0) } } },
      [],
    ],
  ];
  it.each(cases)('%s', (_, more, actions) => {
    expect(done(more)).toEqual(actions);
  });

  const laterCases: [string, Partial<Observed>, Action['do'][]][] = [
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
      'whose next step has not started for a moment is to wait',
      { job, pod: stalled(1), mediaJob: withStatus(begun) },
      [],
    ],
    [
      'whose Job is suspended past the deadline is to show that',
      { job: queuedByKueue },
      ['reportPhase', 'writeStatus'],
    ],
    [
      'whose Job was resumed and waits for its pod is to report that',
      { job: { ...job, hasPod: false }, row: { ...row, phase: 'suspended' }, mediaJob: withStatus(begun) },
      ['reportPhase'],
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
      'whose pod waits with outdated settings is to replace its Job',
      { job, pod: unschedulable, isOutdated: true, mediaJob: withStatus(begun) },
      ['deleteJob'],
    ],
    [
      'whose pod runs with outdated settings is to leave it',
      { job, pod: running('fetch'), isOutdated: true, row: { ...row, phase: 'probing' }, mediaJob: withStatus(begun) },
      [],
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
  ];
  it.each(laterCases)('%s', (_, more, actions) => {
    expect(done(more)).toEqual(actions);
  });

  it('a MediaJob that follows the row of another job is not requeued by time', () => {
    const follower = { ...mediaJob, metadata: { name: 'x', uid: 'another' } };
    const { requeueAfterMs, followsRow } = planned({ mediaJob: follower });
    expect([requeueAfterMs, followsRow]).toEqual([undefined, true]);
  });

  it('shows a Job that Kueue has suspended as suspended', () => {
    expect(shownBy({ job: queuedByKueue })).toMatchObject([
      { do: 'reportPhase', phase: 'suspended' },
      {
        status: { phase: 'suspended', conditions: [{ type: 'Progressing', status: 'False', reason: 'JobSuspended' }] },
      },
    ]);
  });

  it('shows a job that was suspended as resumed, also when its attempt has already ended', () => {
    const wasSuspended = withStatus({ conditions: [condition('Suspended', 'True', 'Suspended')] });
    for (const ended of [row, { ...row, status: 'completed' } as const])
      expect(shownBy({ job, pod: running('process'), mediaJob: wasSuspended, row: ended }).at(-1)).toMatchObject({
        status: {
          conditions: expect.arrayContaining([expect.objectContaining({ type: 'Suspended', status: 'False' })]),
        },
      });
  });

  it('shows a job that waits for a slot as queued', () => {
    expect(shownBy({ row: waitingRow })).toMatchObject([
      {
        status: {
          phase: 'queued',
          conditions: [{ reason: 'Queued', message: expect.stringContaining('default, whose concurrency is 1') }],
        },
      },
    ]);
  });

  it('shows that the pool of a waiting job does not exist', () => {
    expect(shownBy({ row: waitingRow, pool: { name: 'gpu', spec: null } })).toMatchObject([
      { status: { phase: 'unschedulable', conditions: [{ reason: 'PoolNotFound' }] } },
    ]);
  });

  it('keeps the phase of a job whose next step cannot start', () => {
    const late = { job, pod: stalled(6), row: { ...row, phase: 'encoding' as const }, mediaJob: withStatus(begun) };
    expect(shownBy(late)).toMatchObject([
      { status: { phase: 'encoding', conditions: [{ status: 'False', reason: 'CreateContainerConfigError' }] } },
      { do: 'recordProblem' },
    ]);
  });

  it.each<[string, string | undefined, Partial<Observed>]>([
    ['no node fits', 'unschedulable', { job, pod: unschedulable, mediaJob: withStatus(begun) }],
    ['a step cannot start', 'cannot_start', { job, pod: stalled(6), mediaJob: withStatus(begun) }],
    ['its node does not answer', 'node_lost', { job, pod: running('process'), unreadyNode: lostNode }],
    ['the storage is away', 'storage_outage', { isStorageAway: true }],
    ['its MediaJob is suspended', 'suspended', { mediaJob: suspended }],
    ['Kueue has not admitted it', 'suspended', { job: queuedByKueue }],
    ['its pool is full', 'pool_full', { row: old, hasCapacity: false }],
    ['its pool does not exist', 'unschedulable', { row: waitingRow, pool: { name: 'gpu', spec: null } }],
    ['it is in the queue, which callers read from the rows', undefined, { row: waitingRow }],
    ['it runs', undefined, { job, pod: running('process'), mediaJob: withStatus(begun) }],
  ])('reports once to callers that a job waits when %s', (_, code, more) => {
    const lasting = (waiting: Job['waitingReason']) => ({
      ...more,
      row: { ...(more.row ?? row), waitingReason: waiting },
    });
    expect(recordsOf(more)).toEqual(code === undefined ? [] : [code]);
    if (code !== undefined) expect(recordsOf(lasting({ code: code as 'suspended', message: '' }))).toEqual([]);
    else expect(recordsOf(lasting({ code: 'node_lost', message: '' }))).toEqual([undefined]);
  });

  it('names the node that does not answer and keeps the phase of its job', () => {
    const lost = { job, unreadyNode: lostNode, mediaJob: withStatus(begun) };
    expect(shownBy({ ...lost, pod: running('process'), row: { ...row, phase: 'encoding' } })).toMatchObject([
      {
        status: {
          phase: 'encoding',
          conditions: [{ status: 'False', reason: 'NodeNotReady', message: expect.stringContaining('node-1') }],
        },
      },
      { do: 'recordProblem' },
    ]);
    const unstarted = { ...pod, metadata: { creationTimestamp: ago(10) } };
    expect(shownBy({ ...lost, pod: unstarted })).toMatchObject([
      { status: { conditions: [{ reason: 'NodeNotReady' }] } },
      { do: 'recordProblem' },
    ]);
  });

  it('counts the deadline of a missing pool from when it was first missing', () => {
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

  it('fails a job whose image cannot be pulled with that reason in its message', () => {
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

  it('shows a problem in phase, condition and Event', () => {
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

  it('limits progress writes by the rate of all jobs, and writes problems and ends at once', () => {
    const full = { job, mayReportProgress: false };
    const limited = { ...full, pod: running('process') };
    expect(planned(limited)).toMatchObject({ actions: [{ do: 'reportPhase' }], requeueAfterMs: 10_000 });
    expect(done({ ...full, pod: { ...pod, metadata: { creationTimestamp: ago(6) } } })).toEqual([]);
    expect(done({ ...full, pod: unschedulable, mediaJob: withStatus(begun) })).toEqual([
      'writeStatus',
      'recordProblem',
    ]);
    expect(done({ ...full, mediaJob: suspended })).toEqual(['deleteJob', 'reportPhase', 'writeStatus']);
    expect(done({ ...full, row: { ...row, status: 'completed' } })).toEqual(['writeStatus']);
  });

  it('requeues a pending pod in time for the deadline', () => {
    const late = { ...unschedulable, metadata: { creationTimestamp: ago(3590) } };
    expect(planned({ job, pod: late, mediaJob: withStatus(begun) }).requeueAfterMs).toBe(10_000);
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

  it('a MediaJob that has ended is never written again, and is deleted only after Postgres has its end', () => {
    check(
      property(anything, boolean(), (seen, isOld) => {
        const at = isOld ? now + 2 * settings.mediaJobTtlMs : now;
        const actions = plan({ ...observed, ...seen, mediaJob: complete }, at, settings).actions.map((each) => each.do);
        expect(actions).not.toContain('writeStatus');
        if (seen.row !== null && !isFinal(seen.row.status)) expect(actions).not.toContain('deleteMediaJob');
      }),
      { numRuns: 1000 },
    );
  });

  it('a status is not written again once it was observed', () => {
    check(
      property(anything, (seen) => {
        const first = plan({ ...observed, ...seen }, now, settings).actions.find((each) => each.do === 'writeStatus');
        if (first === undefined) return;
        const after = { ...seen.mediaJob, status: { ...seen.mediaJob.status, ...first.status } };
        const isMade = done(seen).includes('createJob');
        const made = isMade ? { job, pod: null, isJobNeverCreated: false } : {};
        const next = { ...seen, ...made, mediaJob: after, sinceWrittenMs: 0 };
        expect(plan({ ...observed, ...next }, now + 1000, settings).actions.map((each) => each.do)).not.toContain(
          'writeStatus',
        );
      }),
      { numRuns: 2000 },
    );
  });
});
