import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { FilmSnapshot } from '../film.ts';
import { labels } from '../manifests/names.ts';
import type { JobSnapshot, PodSnapshot } from '../snapshots.ts';
import type { Action, Observed, ObservedFilm } from './observed.ts';
import { plan } from './plan.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const settings = { pendingDeadlineMs: 3_600_000, mediaJobTtlMs: 3_600_000 };
const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';

const row = {
  id,
  type: 'video:transcode',
  options: { encrypt: false },
  status: 'processing',
  phase: 'encoding',
  progress: 23,
  attempt: 1,
  failures: 0,
  disruptions: 0,
  waitingReason: null,
  updatedAt: new Date(now - 60_000),
} as unknown as Job;
const begun = { type: 'Progressing', status: 'True', reason: 'AttemptBegun', message: '', lastTransitionTime: ago(60) };
const mediaJob = {
  metadata: { name: `mj-${id}`, namespace: 'r', uid: 'u', generation: 1, labels: { [labels.jobId]: id } },
  spec: { type: 'video:transcode', hash: 'h', source: 's' },
  status: { attempt: 1, jobId: id, progress: 23, chunks: '1/4', conditions: [begun] },
} as MediaJob;
const snapshot: FilmSnapshot = { rev: 'r', frames: [100, 100, 100, 100], chunks: [1, 2, 3] };
const job: JobSnapshot = {
  metadata: { name: `mj-${id}-1-e`, uid: 'e', creationTimestamp: ago(60) },
  isSuspended: false,
  conditions: [],
  hasPod: true,
  indexed: { parallelism: 2, completions: 3, completed: '', failed: '' },
};
const ended = (type: string, reason = ''): JobSnapshot => ({ ...job, conditions: [{ type, status: 'True', reason }] });
const podOf = (index: number, more: Partial<PodSnapshot> = {}): PodSnapshot => ({
  metadata: { creationTimestamp: ago(60), labels: { 'batch.kubernetes.io/job-completion-index': String(index) } },
  phase: 'Running',
  reason: '',
  message: '',
  conditions: [],
  containers: [{ name: 'process', isRunning: true }],
  hasRunningSidecar: false,
  ...more,
});
const failed = (index: number, exitCode: number, reason = 'Error') =>
  podOf(index, {
    phase: 'Failed',
    containers: [{ name: 'process', isRunning: false, terminated: { exitCode, reason, message: '' } }],
  });
const pending = (index: number) =>
  podOf(index, {
    phase: 'Pending',
    containers: [],
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
  });
const lost = (index: number) => podOf(index, { metadata: { ...podOf(index).metadata, deletionTimestamp: ago(30) } });
const film: ObservedFilm = { part: 'encode', snapshot, pods: [podOf(0), podOf(1)], parallelism: 2, next: null };
const observed: Observed = {
  mediaJob,
  row,
  film,
  job,
  isJobBeingCreated: false,
  isJobNeverCreated: false,
  runningMs: 60_000,
  otherJobs: [],
  pod: podOf(0),
  unreadyNode: null,
  hasCapacity: true,
  podCreationFailure: null,
  isOutdated: false,
  isStorageAway: false,
  pool: { name: 'default', spec: { concurrency: 4 } },
  sinceWrittenMs: Infinity,
  mayReportProgress: true,
};
type Case = Partial<Observed> & { pods?: PodSnapshot[]; parallelism?: number; next?: ObservedFilm['next'] };
const planned = ({ pods = [...film.pods], parallelism = 2, next = null, ...more }: Case) =>
  plan({ ...observed, film: { ...film, pods, parallelism, next }, pod: pods[0] ?? null, ...more }, now, settings);
const done = (of: Case) => planned(of).actions.map((action) => action.do);
const actionOf = <Kind extends Action['do']>(of: Case, kind: Kind) =>
  planned(of).actions.find((action): action is Extract<Action, { do: Kind }> => action.do === kind);
const finish: ObservedFilm['next'] = { kind: 'finish', film: { ...snapshot, chunks: [] } };

describe('the plan while chunks are encoded', () => {
  it('is to wait while nothing changes', () => {
    expect(done({})).toEqual([]);
  });

  it('is to report and show the chunks that are finished', () => {
    const more = { job: { ...job, indexed: { parallelism: 2, completions: 3, completed: '0', failed: '' } } };
    expect(done(more)).toEqual(['reportPhase', 'writeStatus']);
    expect(actionOf(more, 'writeStatus')?.status.chunks).toBe('2/4');
    expect(actionOf(more, 'reportPhase')?.fraction).toBe(0.5);
  });

  it('is to create the next part once every chunk is finished, when the pool has a slot', () => {
    expect(done({ job: ended('Complete'), next: finish })).toEqual(['createJob']);
    expect(done({ job: ended('Complete'), next: finish, hasCapacity: false })).not.toContain('createJob');
    expect(done({ job: ended('Complete'), next: finish, isJobBeingCreated: true })).toEqual([]);
  });

  it.each<[string, PodSnapshot[], object]>([
    ['a fault of the input', [failed(0, 1), failed(2, 10)], { exitCode: 10, error: { message: /^Chunk 3: / } }],
    ['lack of memory', [failed(1, 137, 'OOMKilled')], { error: { code: 'resource_exhausted', message: /^Chunk 2: / } }],
    ['a failure without a word', [failed(1, 20)], { error: { code: 'storage_error', message: /^Chunk 2: / } }],
  ])('is to end the attempt after %s, and to name the chunk', (_, pods, end) => {
    const concluded = actionOf({ job: ended('Failed', 'FailedIndexes'), pods }, 'concludeAttempt')?.end;
    const expected = JSON.parse(
      JSON.stringify(end, (_key, value: unknown) => (value instanceof RegExp ? undefined : value)),
    ) as object;
    expect(concluded).toMatchObject({ kind: 'failed', ...expected });
    const { message } = (end as { error: { message: RegExp } }).error;
    expect(concluded?.kind === 'failed' ? concluded.error?.message : '').toMatch(message);
  });

  it('is to name the chunk that failed for the last time, and not one that has failed and succeeded since', () => {
    const failedJob = {
      ...ended('Failed'),
      indexed: { parallelism: 2, completions: 3, completed: '0,2', failed: '1' },
    };
    const pods = [failed(1, 137, 'OOMKilled'), failed(2, 20), podOf(2, { phase: 'Succeeded' })];
    const end = actionOf({ job: failedJob, pods }, 'concludeAttempt')?.end;
    expect(end).toMatchObject({ kind: 'failed', error: { code: 'resource_exhausted' } });
    expect(end?.kind === 'failed' ? end.error?.message : '').toMatch(/^Chunk 2: /);
  });

  it('is to end the attempt once a chunk has exceeded its deadline three times, which its Job does not count', () => {
    const late = { ...failed(1, 143), reason: 'DeadlineExceeded' };
    expect(done({ pods: [late, late, podOf(1)] })).toEqual([]);
    expect(done({ pods: [late, late, { ...failed(0, 143), reason: 'DeadlineExceeded' }, podOf(1)] })).toEqual([]);
    const end = actionOf({ pods: [late, late, late, podOf(0)] }, 'concludeAttempt')?.end;
    expect(end).toMatchObject({ kind: 'failed', error: { code: 'deadline_exceeded' } });
  });

  it('is another attempt at no cost when the Job failed and no pod did', () => {
    expect(actionOf({ job: ended('Failed'), pods: [] }, 'concludeAttempt')?.end).toEqual({ kind: 'disrupted' });
  });

  it('is to use more slots, and to leave them only as chunks end', () => {
    expect(actionOf({ parallelism: 4 }, 'scaleJob')?.parallelism).toBe(4);
    expect(done({ parallelism: 1 })).toEqual([]);
    expect(actionOf({ parallelism: 1, pods: [podOf(0), failed(1, 20)] }, 'scaleJob')?.parallelism).toBe(1);
    expect(actionOf({ parallelism: 1, pods: [podOf(0), pending(1)] }, 'scaleJob')?.parallelism).toBe(1);
  });

  it('is to show why no chunk runs, with its number, but nothing while another one does', () => {
    const shown = actionOf({ pods: [pending(2)] }, 'writeStatus')?.status.conditions;
    expect(shown).toMatchObject([{ reason: 'Unschedulable', message: 'Chunk 3: 0/1 nodes' }]);
    expect(done({ pods: [podOf(0), pending(2)] })).not.toContain('writeStatus');
    const unreadyNode = { metadata: { name: 'node-1' }, unreadyBecause: 'Kubelet stopped posting node status.' };
    const silent = actionOf({ pods: [podOf(1)], unreadyNode }, 'writeStatus')?.status.conditions;
    expect(silent).toMatchObject([
      { reason: 'NodeNotReady', message: expect.stringMatching(/^Chunk 2: Its node node-1 is not ready/) },
    ]);
  });

  it('is to create the Job anew when only pods of lost nodes are left, at no cost of an attempt', () => {
    expect(done({ pods: [lost(0), failed(1, 20)] })).toEqual(['deleteJob']);
    expect(done({ pods: [lost(0), podOf(1)] })).not.toContain('deleteJob');
  });

  it('is to stop the Job of a job that is suspended or has been cancelled', () => {
    const suspended = { ...mediaJob, spec: { ...mediaJob.spec, suspend: true } };
    expect(done({ mediaJob: suspended })).toContain('deleteJob');
    const cancelled = { ...row, status: 'cancelled', error: null, results: null } as Job;
    expect(done({ row: cancelled, pods: [failed(0, 20)] })).toContain('deleteJob');
  });
});

describe('the plan after the first part', () => {
  const split: JobSnapshot = { ...job, metadata: { ...job.metadata, name: `mj-${id}-1` } };
  const { indexed: _, ...splitJob } = split;
  const published = podOf(0, { phase: 'Succeeded', containers: [] });
  const afterSplit = (next: ObservedFilm['next'], more: Partial<Observed> = {}) =>
    plan(
      {
        ...observed,
        job: splitJob,
        pod: published,
        film: { ...film, part: 'split', snapshot: null, pods: [], next },
        ...more,
      },
      now,
      settings,
    ).actions.map((action) => action.do);

  it('is to complete a job that stayed one piece, and to encode the chunks of a film', () => {
    expect(afterSplit(null)).toEqual(['concludeAttempt']);
    expect(afterSplit({ kind: 'encode', film: snapshot })).toEqual(['createJob']);
  });

  it('is to wait while the object storage is away', () => {
    expect(afterSplit({ kind: 'encode', film: snapshot }, { isStorageAway: true })).not.toContain('createJob');
  });
});
