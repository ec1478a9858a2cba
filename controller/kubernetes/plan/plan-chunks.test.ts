import { describe, expect, it } from 'vitest';
import type { JobSnapshot } from '../snapshots/job.ts';
import type { PodSnapshot } from '../snapshots/pod.ts';
import {
  actionOf,
  done,
  ended,
  failed,
  finish,
  held,
  job,
  lost,
  mediaJob,
  observed,
  pending,
  pendingChunks,
  planned,
  podOf,
  row,
  units,
  waiting,
} from '../../../testing/k8s/chunk-cases.ts';
import { ago, type FlatObserved, now, observedOf, settings } from '../../../testing/k8s/plan-cases.ts';
import type { ObservedUnits } from './observed.ts';
import { plan } from './plan.ts';

describe('the plan while chunks are encoded', () => {
  it('the plan reports and shows the chunks that are finished', () => {
    const more = { job: { ...job, indexed: { parallelism: 2, completions: 3, completed: '0', failed: '' } } };
    expect(done(more)).toEqual(['reportPhase', 'writeStatus']);
    expect(actionOf(more, 'writeStatus')?.status.chunks).toBe('2/4');
    expect(actionOf(more, 'reportPhase')?.fraction).toBe(0.5);
    expect(planned({ row: { ...row, phase: 'scheduling' } }).actions).toEqual([
      { do: 'reportPhase', phase: 'encoding', fraction: 0.25 },
    ]);
  });

  it.each([
    ['others work', {}, 5_000],
    ['a pod finds no node', { pods: [pending(2)] }, 5_000],
    ['the deadline of a step is near', { pods: [waiting(2, 3_598)] }, 2_000],
  ])('the plan for chunks says when they are looked at again while %s', (_, more, requeueAfterMs) => {
    expect(planned(more).requeueAfterMs).toBe(requeueAfterMs);
  });

  it.each([
    ['the ones before were deleted', { pods: [] }],
    ['the ones before have ended', { pods: [podOf(0, { phase: 'Succeeded', containers: [] })] }],
  ])('a chunk whose pod cannot be created is reported when %s', (_, more) => {
    const quota = { ...more, podCreationFailure: 'exceeded quota: pods=0' };
    expect(actionOf(quota, 'writeStatus')?.status.conditions?.[0]).toMatchObject({
      reason: 'QuotaExceeded',
      message: 'exceeded quota: pods=0',
    });
    expect(done(quota)).toContain('recordWaiting');
  });

  it('a chunk whose pod cannot be created is reported while others work, and is no failure at the deadline', () => {
    const denied = {
      podCreationFailure: 'denied by a policy',
      job: { ...job, metadata: { ...job.metadata, creationTimestamp: ago(9_000) } },
    };
    expect(actionOf(denied, 'writeStatus')?.status.conditions?.[0]).toMatchObject({
      reason: 'FailedCreate',
      message: 'denied by a policy',
    });
    expect(done(denied)).not.toContain('failJob');
  });

  it('an attempt ends once every chunk is finished and the bucket lost what the source was split into', () => {
    expect(actionOf({ job: ended('Complete') }, 'concludeAttempt')?.end).toEqual({ kind: 'done' });
  });

  it('the plan waits while the bucket that says what follows is away', () => {
    const away = { job: ended('Complete'), isStorageAway: true };
    expect(done({ ...away, units: { ...units, isUnread: true } })).toEqual(['writeStatus', 'recordWaiting']);
  });

  it('the next part is created once every chunk is finished, when the pool has a slot', () => {
    expect(done({ job: ended('Complete'), next: finish })).toEqual(['createJob']);
    expect(done({ job: ended('Complete'), next: finish, hasCapacity: false })).not.toContain('createJob');
    expect(done({ job: ended('Complete'), next: finish, isJobBeingCreated: true })).toEqual([]);
  });

  it.each<[string, PodSnapshot[], object]>([
    ['a fault of the input', [failed(2, 10), failed(0, 1)], { exitCode: 10, error: { message: /^Chunk 3: / } }],
    [
      'lack of memory',
      [failed(1, 137, { reason: 'OOMKilled' })],
      { error: { code: 'resource_exhausted', message: /^Chunk 2: / } },
    ],
    ['a failure without a word', [failed(1, 20)], { error: { code: 'storage_error', message: /^Chunk 2: / } }],
  ])('the plan while chunks are encoded ends the attempt after %s, and names the chunk', (_, pods, end) => {
    const concluded = actionOf({ job: ended('Failed', 'FailedIndexes'), pods }, 'concludeAttempt')?.end;
    const expected = JSON.parse(
      JSON.stringify(end, (_key, value: unknown) => (value instanceof RegExp ? undefined : value)),
    ) as object;
    expect(concluded).toMatchObject({ kind: 'failed', ...expected });
    const { message } = (end as { error: { message: RegExp } }).error;
    expect(concluded?.kind === 'failed' ? concluded.error?.message : '').toMatch(message);
  });

  it('an error names the chunk that failed for the last time, and not one that has failed and succeeded since', () => {
    const failedJob = {
      ...ended('Failed'),
      indexed: { parallelism: 2, completions: 3, completed: '0,2', failed: '1' },
    };
    const pods = [failed(2, 20), failed(1, 137, { reason: 'OOMKilled' }), podOf(2, { phase: 'Succeeded' })];
    const end = actionOf({ job: failedJob, pods }, 'concludeAttempt')?.end;
    expect(end).toMatchObject({ kind: 'failed', error: { code: 'resource_exhausted' } });
    expect(end?.kind === 'failed' ? end.error?.message : '').toMatch(/^Chunk 2: /);
  });

  it('an attempt ends once a chunk has exceeded its deadline three times, which its Job does not count', () => {
    const late = { ...failed(1, 143), reason: 'DeadlineExceeded' };
    expect(done({ pods: [late, late, podOf(1)] })).toEqual([]);
    expect(done({ pods: [late, late, { ...failed(0, 143), reason: 'DeadlineExceeded' }, podOf(1)] })).toEqual([]);
    const end = actionOf({ pods: [late, late, late, podOf(0)] }, 'concludeAttempt')?.end;
    expect(end).toMatchObject({ kind: 'failed', error: { code: 'deadline_exceeded' } });
  });

  it('an attempt whose Job has failed ends also while the storage is away', () => {
    expect(done({ job: ended('Failed'), pods: [failed(1, 20)], isStorageAway: true })).toEqual(['concludeAttempt']);
  });

  it('a Job that is suspended is shown as such', () => {
    const suspended = { job: { ...job, isSuspended: true }, pods: [] };
    expect(actionOf(suspended, 'writeStatus')?.status.conditions).toMatchObject([{ reason: 'JobSuspended' }]);
  });

  it('another attempt follows at no cost when the Job failed and no pod did', () => {
    expect(actionOf({ job: ended('Failed'), pods: [] }, 'concludeAttempt')?.end).toEqual({ kind: 'disrupted' });
  });

  it('chunks use more slots, and leave them only as they end', () => {
    expect(actionOf({ parallelism: 4 }, 'scaleJob')?.parallelism).toBe(4);
    expect(done({ parallelism: 1 })).toEqual([]);
    expect(done({ parallelism: 1, pods: [podOf(0), waiting(1, 1)] })).toEqual([]);
    expect(actionOf({ parallelism: 1, pods: [podOf(0), failed(1, 20)] }, 'scaleJob')?.parallelism).toBe(1);
    expect(actionOf({ parallelism: 1, pods: [podOf(0), pending(1)] }, 'scaleJob')?.parallelism).toBe(1);
  });

  it.each<[string, { current: number; completed: string; wanted: number; pods: PodSnapshot[] }]>([
    ['every pod works', { current: 3, completed: '0', wanted: 1, pods: [podOf(1), podOf(2)] }],
    ['fewer chunks are left than slots', { current: 3, completed: '0-1', wanted: 2, pods: [podOf(2)] }],
    ['as many chunks are left as slots', { current: 3, completed: '0-1', wanted: 1, pods: [podOf(2)] }],
  ])('chunks keep their slots while %s', (_, { current, completed, wanted, pods }) => {
    const indexed = { parallelism: current, completions: 3, completed, failed: '' };
    expect(actionOf({ job: { ...job, indexed }, parallelism: wanted, pods }, 'scaleJob')).toBeUndefined();
  });

  it('the status says why no chunk runs, with its number, but nothing while another one does', () => {
    const shown = actionOf({ pods: [pending(2)] }, 'writeStatus')?.status.conditions;
    expect(shown).toMatchObject([{ reason: 'Unschedulable', message: 'Chunk 3: 0/1 nodes' }]);
    expect(done({ pods: [podOf(0), pending(2)] })).not.toContain('writeStatus');
    const unreadyNode = { metadata: { name: 'node-1' }, unreadyBecause: 'Kubelet stopped posting node status.' };
    const silent = actionOf({ pods: [podOf(1)], unreadyNode }, 'writeStatus')?.status.conditions;
    expect(silent).toMatchObject([
      { reason: 'NodeNotReady', message: expect.stringMatching(/^Chunk 2: Its node node-1 is not ready/) },
    ]);
    expect(done({ pods: [podOf(2, { phase: 'Pending', containers: [] })] })).toEqual([]);
  });

  it.each([
    [null, 'encoding'],
    ['scheduling', 'scheduling'],
  ] as const)('a problem of one chunk keeps the phase %s of its job, or shows %s', (phase, shown) => {
    const unreadyNode = { metadata: { name: 'node-1' }, unreadyBecause: null };
    for (const more of [{ pods: [podOf(1)], unreadyNode }, { pods: [podOf(0), waiting(2, 20)] }])
      expect(actionOf({ ...more, row: { ...row, phase } }, 'writeStatus')?.status.phase).toBe(shown);
  });

  it('the plan shows a chunk whose next step cannot start, whether others run or not', () => {
    for (const pods of [[waiting(2, 20)], [podOf(0), waiting(1, 10), waiting(2, 20)]]) {
      const { conditions, phase } = actionOf({ pods }, 'writeStatus')?.status ?? {};
      expect(conditions).toMatchObject([
        { reason: 'CreateContainerConfigError', message: 'Chunk 3: publish: secret "media" not found' },
      ]);
      expect(phase).toBe('encoding');
      expect(actionOf({ pods }, 'recordWaiting')?.reason?.code).toBe('cannot_start');
      expect(done({ pods })).toContain('recordProblem');
    }
    expect(done({ pods: [podOf(0), waiting(2, 4.9)] })).not.toContain('recordProblem');
    expect(done({ pods: [podOf(0), waiting(2, 5)] })).toContain('recordProblem');
  });

  it('the plan fails the job once a chunk has waited past the pending deadline, whether others run or not', () => {
    for (const pods of [[waiting(2, 3_600)], [podOf(0), waiting(2, 3_600)]]) {
      expect(actionOf({ pods }, 'failJob')?.error.message).toMatch(/^CreateContainerConfigError: Chunk 3: /);
    }
    const { metadata } = waiting(0, 3_700);
    expect(done({ pods: [{ ...failed(0, 20, { seconds: 100 }), metadata }] })).toEqual([]);
  });

  it('the plan shows an outage of the storage, in which chunks that work go on while no chunk is at its last try', () => {
    const away = { isStorageAway: true };
    const pods = [podOf(0), failed(1, 20)];
    expect(done({ pods })).toEqual([]);
    expect(done({ ...away, pods })).toEqual(['writeStatus', 'recordWaiting']);
    expect(actionOf({ ...away, pods }, 'writeStatus')?.status.conditions).toMatchObject([
      { reason: 'StorageUnavailable', message: expect.stringMatching(/media bucket .*ECONNREFUSED/) as string },
    ]);
    expect(done({ ...away, pods: [...pods, failed(0, 20), failed(2, 20)] })).not.toContain('deleteJob');
    expect(done({ ...away, pods: [...pods, failed(1, 20, { seconds: 90 }), failed(2, 20)] })).toContain('deleteJob');
    expect(done({ ...away, pods: [failed(0, 20), pending(1)] })).toContain('deleteJob');
    expect(done({ ...away, pods: [failed(1, 20), failed(1, 20)] })).not.toContain('concludeAttempt');
  });

  it('an outage of the storage changes nothing for chunks that it has not failed', () => {
    for (const pods of [[podOf(0)], [podOf(0), failed(1, 20, { seconds: 90 })]])
      expect(done({ pods, isStorageAway: true })).toEqual([]);
  });

  it('the plan deletes the Job once only pods are left that added containers keep running', () => {
    expect(done({ pods: [held(0, 0, 20), held(1, 0, 20)] })).toEqual(['deleteJob']);
    expect(done({ pods: [held(0, 0, 20), held(1, 0, 1)] })).toEqual([]);
    expect(done({ pods: [held(0, 0, 5)] })).toEqual(['deleteJob']);
    expect(done({ pods: [held(0, 0, 20), podOf(1)] })).not.toContain('deleteJob');
    expect(done({ pods: [failed(0, 20, { seconds: 20 })] })).not.toContain('deleteJob');
  });

  it('the plan ends the attempt after a failure that an added container hides from the Job controller', () => {
    expect(done({ pods: [held(0, 20, 1), podOf(1)] })).toEqual([]);
    const end = actionOf({ pods: [held(0, 20, 5), podOf(1)] }, 'concludeAttempt')?.end;
    expect(end).toMatchObject({ kind: 'failed', error: { code: 'storage_error' } });
  });

  it('the plan starts no chunk in a pool of concurrency 0, and says that it waits', () => {
    const pool = { name: 'default', spec: { concurrency: 0 } };
    expect(done({ pool, parallelism: 0 })).toEqual([]);
    expect(actionOf({ pool, parallelism: 0, pods: [podOf(0)] }, 'scaleJob')?.parallelism).toBe(1);
    const empty = { pool, parallelism: 0, pods: [] };
    expect(actionOf(empty, 'scaleJob')?.parallelism).toBe(0);
    expect(actionOf(empty, 'writeStatus')?.status.conditions).toMatchObject([{ reason: 'Queued' }]);
    expect(done({ ...empty, pods: [pending(1)] })).not.toContain('failJob');
  });

  it('C36.11: the plan starts no chunk while it is the turn of another key, says whose, and does not fail meanwhile', () => {
    const turn = '1 job of its key runs, its share is 1; 2 keys wait';
    const waits = { parallelism: 0, turn, pods: [] };
    expect(actionOf(waits, 'scaleJob')?.parallelism).toBe(0);
    const message = `Its next chunk waits for the turn of its key: ${turn}.`;
    expect(actionOf(waits, 'recordWaiting')?.reason).toEqual({ code: 'pool_full', message });
    expect(done({ ...waits, pods: [pending(1)] })).not.toContain('failJob');
    const stopped = { ...job, indexed: { parallelism: 0, completions: 3, completed: '0', failed: '' } };
    expect(actionOf({ job: stopped, parallelism: 1, pods: [] }, 'scaleJob')?.parallelism).toBe(1);
  });

  it('the Job is created again when only pods of lost nodes are left, at no cost of an attempt', () => {
    expect(done({ pods: [lost(0), failed(1, 20)] })).toEqual(['deleteJob']);
    expect(done({ pods: [lost(0), podOf(1)] })).not.toContain('deleteJob');
  });

  it('the Job of a job that is suspended or has been cancelled is stopped', () => {
    const suspended = { ...mediaJob, spec: { ...mediaJob.spec, suspend: true } };
    expect(done({ mediaJob: suspended })).toContain('deleteJob');
    const cancelled = { ...row, status: 'cancelled' } as const;
    expect(done({ row: cancelled, pods: [failed(0, 20)] })).toContain('deleteJob');
  });
});

describe('the plan after the first part', () => {
  const split: JobSnapshot = { ...job, metadata: { ...job.metadata, name: `mj-${row.id}-1` } };
  const { indexed: _, ...splitJob } = split;
  const published = podOf(0, { phase: 'Succeeded', containers: [] });
  const afterSplit = (next: ObservedUnits['next'], more: Partial<FlatObserved> = {}) =>
    plan(
      observedOf({
        ...observed,
        job: splitJob,
        pod: published,
        units: { ...units, kind: 'split', pending: null, pods: [], next },
        ...more,
      }),
      now,
      settings,
    ).actions.map((action) => action.do);

  it('a split that has ended completes a job that stayed in one piece, and is followed by the chunks of another', () => {
    expect(afterSplit(null)).toEqual(['concludeAttempt']);
    expect(afterSplit({ kind: 'chunk', split: pendingChunks, chunks: [1, 2, 3] })).toEqual(['createJob']);
  });

  it('the plan waits while the object storage is away', () => {
    expect(
      afterSplit({ kind: 'chunk', split: pendingChunks, chunks: [1, 2, 3] }, { isStorageAway: true }),
    ).not.toContain('createJob');
  });
});
