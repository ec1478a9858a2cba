import { describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { endOfAttempt, isStorageFailure } from './attempt-end.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import type { PodSnapshot } from '../snapshots/pod.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const job: JobSnapshot = { metadata: { name: 'mj-1-1' }, isSuspended: false, conditions: [], hasPod: true };
const ended = (type: string, reason = ''): JobSnapshot => ({ ...job, conditions: [{ type, status: 'True', reason }] });

function pod(more: Partial<PodSnapshot> = {}): PodSnapshot {
  return {
    metadata: {},
    phase: 'Running',
    reason: '',
    message: '',
    conditions: [],
    containers: [],
    hasRunningSidecar: false,
    ...more,
  };
}

const exited = (exitCode: number, more: { name?: string; reason?: string; message?: string } = {}) => ({
  name: more.name ?? 'process',
  isRunning: false,
  terminated: { exitCode, reason: more.reason ?? 'Error', message: more.message ?? '' },
});
const waiting = { name: 'publish', isRunning: false, waiting: { reason: 'PodInitializing', message: '' } };
const failed = (container: ReturnType<typeof exited>, more: Partial<PodSnapshot> = {}) =>
  pod({ phase: 'Failed', containers: [container, waiting], ...more });
const target = { conditions: [{ type: 'DisruptionTarget', status: 'True' }] };
const error = (code: Parameters<typeof jobErrorOf>[0], stage?: string) =>
  stage === undefined ? jobErrorOf(code, 1) : { ...jobErrorOf(code, 1), stage };

describe('how an attempt ended', () => {
  const cases: [string, JobSnapshot, PodSnapshot | null, ReturnType<typeof endOfAttempt>][] = [
    ['a Job without a pod continues', job, null, null],
    ['a running pod continues', job, pod({ containers: [exited(0), { name: 'publish', isRunning: true }] }), null],
    [
      'a main container that ended with 0 is done although the pod is still Running',
      job,
      pod({ containers: [exited(0), exited(0, { name: 'publish' })] }),
      { kind: 'done' },
    ],
    ['a pod that succeeded is done', job, pod({ phase: 'Succeeded' }), { kind: 'done' }],
    [
      'a deleted pod that had succeeded is done',
      job,
      pod({ phase: 'Succeeded', metadata: { deletionTimestamp: '2026-11-21T11:00:00Z' }, ...target }),
      { kind: 'done' },
    ],
    ['a Job that is complete without a pod is done', ended('Complete'), null, { kind: 'done' }],
    [
      'a failure has the exit code and the error of the termination message',
      job,
      failed(
        exited(10, { message: JSON.stringify({ type: 'result', error: jobErrorOf('corrupt_input', 7), steps: [] }) }),
      ),
      { kind: 'failed', exitCode: 10, error: error('corrupt_input') },
    ],
    [
      'a termination message that is not a report is ignored',
      job,
      failed(exited(1, { message: 'Segmentation fault' })),
      { kind: 'failed', exitCode: 1, error: null },
    ],
    [
      'a container that ran out of memory fails with its step and resource_exhausted',
      job,
      failed(exited(137, { reason: 'OOMKilled' })),
      { kind: 'failed', exitCode: 30, error: error('resource_exhausted', 'process') },
    ],
    [
      'a container that a signal ended has no exit code',
      job,
      failed(exited(137)),
      { kind: 'failed', exitCode: null, error: null },
    ],
    [
      'exit code 137 with a DisruptionTarget condition is a disruption',
      job,
      failed(exited(137), target),
      { kind: 'disrupted' },
    ],
    [
      'exit code 137 of a deleted pod is a disruption',
      job,
      failed(exited(137), { metadata: { deletionTimestamp: '2026-11-21T12:00:05Z' } }),
      { kind: 'disrupted' },
    ],
    ['a runner that was stopped is a disruption', job, failed(exited(143)), { kind: 'disrupted' }],
    [
      'an eviction for exceeding the scratch limit is a failure',
      job,
      pod({
        phase: 'Failed',
        reason: 'Evicted',
        message: 'Usage of EmptyDir volume "workspace" exceeds the limit "1Mi". ',
      }),
      { kind: 'failed', exitCode: 30, error: error('resource_exhausted') },
    ],
    [
      'an eviction under node pressure is a disruption',
      job,
      pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.', ...target }),
      { kind: 'disrupted' },
    ],
    [
      'a pod past its deadline fails with deadline_exceeded',
      job,
      failed(exited(143), { reason: 'DeadlineExceeded' }),
      { kind: 'failed', exitCode: 20, error: error('deadline_exceeded') },
    ],
    [
      'a failed Job whose pod is absent was disrupted',
      ended('Failed', 'BackoffLimitExceeded'),
      null,
      { kind: 'disrupted' },
    ],
    [
      'a pod that is being deleted is waited for',
      job,
      pod({ metadata: { deletionTimestamp: '2026-11-21T11:59:58Z' } }),
      null,
    ],
    [
      'a pod that exists past its deletion time is on a dead node and was disrupted',
      job,
      pod({ metadata: { deletionTimestamp: '2026-11-21T11:59:54Z' } }),
      { kind: 'disrupted' },
    ],
    [
      'a program that cannot be started fails for good',
      job,
      failed(exited(128, { reason: 'StartError' })),
      { kind: 'failed', exitCode: 10, error: error('internal', 'process') },
    ],
    [
      'an eviction for exceeding the scratch limit of the pod is a failure',
      job,
      pod({
        phase: 'Failed',
        reason: 'Evicted',
        message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ',
      }),
      { kind: 'failed', exitCode: 30, error: error('resource_exhausted') },
    ],
    [
      'an eviction for exceeding the scratch limit of a container is a failure',
      job,
      pod({
        phase: 'Failed',
        reason: 'Evicted',
        message: 'Container process exceeded its local ephemeral storage limit "1Gi". ',
      }),
      { kind: 'failed', exitCode: 30, error: error('resource_exhausted') },
    ],
    ['a failed Job whose pod is still there is waited for', ended('Failed'), pod(), null],
    ['a Job that is complete is done although its pod still runs', ended('Complete'), pod(), { kind: 'done' }],
  ];
  it.each(cases)('%s', (_, seenJob, seenPod, end) => {
    expect(endOfAttempt({ attempt: 1, job: seenJob, pod: seenPod }, now)).toStrictEqual(end);
  });
});

describe('whether a pod has just failed by the object storage', () => {
  const finished = (secondsAgo: number, exitCode = 20) => {
    const container = exited(exitCode);
    const finishedAt = new Date(now - secondsAgo * 1000).toISOString();
    return failed({ ...container, terminated: { ...container.terminated, finishedAt } } as typeof container);
  };

  it.each([
    ['it ended a minute ago without a word', finished(60), true],
    ['it ended longer ago', finished(61), false],
    ['the fault is of the input', finished(1, 10), false],
    ['when it ended is unknown', failed(exited(20)), false],
    ['it runs', pod(), false],
    ['it succeeded', pod({ phase: 'Succeeded' }), false],
  ])('where %s', (_, failedPod, isByStorage) => {
    expect(isStorageFailure(failedPod, 1, now)).toBe(isByStorage);
  });
});
