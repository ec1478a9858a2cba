import { describe, expect, it } from 'vitest';
import * as chunked from '../../../testing/k8s/chunk-cases.ts';
import {
  begun,
  condition,
  type FlatObserved,
  job,
  old,
  planned,
  pod,
  queuedByKueue,
  running,
  unschedulable,
  withStatus,
} from '../../../testing/k8s/plan-cases.ts';

const statusOf = (more: Partial<FlatObserved>) =>
  planned(more).actions.find((action) => action.do === 'writeStatus')?.status;

describe('the attempt that a status shows', () => {
  it('is the attempt of a Job that runs', () => {
    expect(statusOf({ job, pod: running('process') })?.attempt).toBe(1);
  });

  const next: FlatObserved['units'] = { ...chunked.units, kind: 'split', pending: null, next: chunked.finish };
  const between = { job, pod: { ...pod, phase: 'Succeeded' }, units: next };
  it.each<[string, Partial<FlatObserved>]>([
    ['its pool', { ...between, pool: { name: 'gpu', spec: null } }],
    ['a slot', { ...between, hasCapacity: false }],
    ['the storage', { ...between, isStorageAway: true }],
    ['its queue', { job: queuedByKueue }],
  ])('stays the earlier one while a job waits for %s', (_, more) => {
    const again = { ...more, row: { ...old, attempt: 2 } };
    expect(statusOf(again)).not.toHaveProperty('attempt');
    expect(statusOf({ ...again, mediaJob: withStatus(begun) })?.attempt).toBe(1);
  });
});

describe('the chunks that a status shows', () => {
  const { units, observed } = chunked;

  it('are all finished while the Job that follows them runs', () => {
    const { indexed: _, ...finishing } = chunked.job;
    const finished: FlatObserved['units'] = {
      ...units,
      kind: 'finish',
      pending: { ...chunked.pendingChunks, chunks: [] },
    };
    const seen = { ...observed, job: finishing, pod: running('publish'), units: finished };
    expect(statusOf(seen)?.chunks).toBe('4/4');
  });
});

describe('the Event of a problem', () => {
  it('is written with the status alone, also when callers do not know of the problem yet', () => {
    const shown = { ...begun, conditions: [condition('Progressing', 'False', 'Unschedulable')] };
    const { actions } = planned({ job, pod: unschedulable, mediaJob: withStatus(shown) });
    expect(actions.map((action) => action.do)).toEqual(['recordWaiting']);
  });
});
