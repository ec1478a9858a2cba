import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { UnitKind } from '#domain/work/unit.ts';
import {
  ago,
  begun,
  condition,
  done,
  type FlatObserved,
  job,
  lostNode,
  old,
  type PlanCase,
  pod,
  queuedByKueue,
  recordsOf,
  row,
  running,
  shownBy,
  stalled,
  suspended,
  unschedulable,
  waitingRow,
  withStatus,
} from '../../../testing/k8s/plan-cases.ts';
import type { ObservedUnits } from './observed.ts';

const unitsOf = (kind: UnitKind, more: Partial<ObservedUnits> = {}): ObservedUnits => ({
  kind,
  pending: null,
  pods: [],
  parallelism: 1,
  turn: null,
  next: null,
  isUnread: false,
  ...more,
});
const unread = unitsOf('split', { isUnread: true });

describe('the plan for a MediaJob', () => {
  it.each<PlanCase>([
    [
      'whose pod runs on a node that does not answer is to show and record that',
      { job, pod: running('process'), unreadyNode: lostNode, mediaJob: withStatus(begun) },
      ['writeStatus', 'recordProblem'],
    ],
    [
      'whose Job was deleted is another attempt',
      { mediaJob: withStatus(begun), isJobNeverCreated: false },
      ['concludeAttempt'],
    ],
    ['whose pod has just started is to wait: it may end in a moment', { job, pod: running('all'), runningMs: 0 }, []],
    [
      'whose pod has run for a second is to show that',
      { job, pod: running('all'), runningMs: 1000 },
      ['reportPhase', 'writeStatus'],
    ],
    [
      'whose pod runs a step after another has ended is to report its phase',
      {
        job,
        pod: { ...stalled(6), containers: [...stalled(6).containers.slice(0, 1), ...running('process').containers] },
        mediaJob: withStatus(begun),
      },
      ['reportPhase'],
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
    [
      'whose pod has succeeded while it is unknown which units follow is to show that',
      { job, pod: { ...pod, phase: 'Succeeded' }, units: unread, mediaJob: withStatus(begun) },
      ['writeStatus'],
    ],
    [
      'that is suspended is to delete its Job',
      { job, pod, mediaJob: { ...suspended, status: begun } },
      ['deleteJob', 'reportPhase', 'writeStatus'],
    ],
    ['that was suspended from the start is to show that', { mediaJob: suspended }, ['reportPhase', 'writeStatus']],
    ['with a Job of an earlier attempt is to delete that Job', { otherJobs: [job], hasCapacity: false }, ['deleteJob']],
    [
      'with Jobs of earlier attempts that have ended or are being deleted is to leave these',
      {
        otherJobs: [
          { ...job, conditions: [{ type: 'Failed', status: 'True' }] },
          { ...job, metadata: { ...job.metadata, deletionTimestamp: ago(1) } },
        ],
        hasCapacity: false,
      },
      [],
    ],
    [
      'whose pod runs with outdated settings is to leave it',
      { job, pod: running('fetch'), isOutdated: true, row: { ...row, phase: 'probing' }, mediaJob: withStatus(begun) },
      [],
    ],
  ])('the plan for a MediaJob %s', (_, more, actions) => {
    expect(done(more)).toEqual(actions);
  });

  it('the plan for a MediaJob ends an attempt whose Job was deleted as a disruption', () => {
    expect(shownBy({ isJobNeverCreated: false })).toEqual([{ do: 'concludeAttempt', end: { kind: 'disrupted' } }]);
  });

  it.each<[step: string, kind: UnitKind, before: JobPhase, phase: JobPhase]>([
    ['fetch', 'whole', 'scheduling', 'probing'],
    ['fetch', 'whole', 'suspended', 'probing'],
    ['process', 'whole', 'probing', 'encoding'],
    ['publish', 'whole', 'encoding', 'packaging'],
    ['all', 'image', 'scheduling', 'encoding'],
    ['fetch', 'split', 'scheduling', 'probing'],
    ['publish', 'split', 'scheduling', 'encoding'],
  ])('the plan for a MediaJob whose pod runs %s of %s reports after %s the phase %s', (step, kind, before, phase) => {
    const seen = { job, pod: running(step), units: unitsOf(kind), row: { ...row, phase: before } };
    expect(shownBy({ ...seen, mediaJob: withStatus(begun) })).toEqual([{ do: 'reportPhase', phase }]);
  });

  it('the plan for a MediaJob shows a job that was suspended as resumed, also when its attempt has already ended', () => {
    const wasSuspended = withStatus({ conditions: [condition('Suspended', 'True', 'Suspended')] });
    for (const ended of [row, { ...row, status: 'completed' } as const])
      expect(shownBy({ job, pod: running('process'), mediaJob: wasSuspended, row: ended }).at(-1)).toMatchObject({
        status: {
          conditions: expect.arrayContaining([expect.objectContaining({ type: 'Suspended', status: 'False' })]),
        },
      });
  });

  it.each<[string, string | undefined, Partial<FlatObserved>]>([
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
  ])('the plan for a MediaJob reports once to callers that a job waits when %s', (_, code, more) => {
    const lasting = (waiting: Job['waitingReason']) => ({
      ...more,
      row: { ...(more.row ?? row), waitingReason: waiting },
    });
    expect(recordsOf(more)).toEqual(code === undefined ? [] : [code]);
    if (code !== undefined) expect(recordsOf(lasting({ code: code as 'suspended', message: '' }))).toEqual([]);
    else expect(recordsOf(lasting({ code: 'node_lost', message: '' }))).toEqual([undefined]);
  });

  it('the plan for a MediaJob names the node that does not answer and keeps the phase of its job', () => {
    const lost = { job, unreadyNode: lostNode, mediaJob: withStatus(begun) };
    expect(shownBy({ ...lost, pod: running('publish'), row: { ...row, phase: 'publishing' } })).toMatchObject([
      {
        status: {
          phase: 'publishing',
          conditions: [{ status: 'False', reason: 'NodeNotReady', message: expect.stringContaining('node-1') }],
        },
      },
      { do: 'recordProblem' },
    ]);
    const unstarted = { ...pod, metadata: { creationTimestamp: ago(10) } };
    expect(shownBy({ ...lost, pod: unstarted })).toMatchObject([
      { status: { phase: 'scheduling', conditions: [{ reason: 'NodeNotReady' }] } },
      { do: 'recordProblem' },
    ]);
  });
});
