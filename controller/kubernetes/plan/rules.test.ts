import { describe, expect, it } from 'vitest';
import * as chunks from '../../../testing/k8s/chunk-cases.ts';
import * as cases from '../../../testing/k8s/plan-cases.ts';
import type { FlatObserved } from '../../../testing/k8s/plan-cases.ts';
import { attemptRules, classify, mediaJobRules } from './rules.ts';

const { ago, job, mediaJob, now, pod, row, running, settings } = cases;
const fromKubectl = { ...mediaJob, metadata: { name: 'x', uid: 'u2' } };
const failed = { ...job, conditions: [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded' }] };
const created = (seconds: number) => ({ ...pod, metadata: { creationTimestamp: ago(seconds) } });

/** An observation of each situation, in the order of the rules. */
const ofMediaJobs: Record<keyof typeof mediaJobRules, Partial<FlatObserved>> = {
  being_deleted: { mediaJob: { ...cases.complete, metadata: { ...mediaJob.metadata, deletionTimestamp: ago(0) } } },
  ended_before_job: { mediaJob: { ...cases.complete, metadata: fromKubectl.metadata } },
  ended: { mediaJob: cases.complete, row: { ...row, status: 'completed' } },
  unknown: { row: null, isStorageAway: true },
  unmeasurable: { mediaJob: fromKubectl, row: null, isStorageAway: true },
  new: { mediaJob: fromKubectl, row: null },
  final: { mediaJob: fromKubectl, row: { ...row, status: 'failed' } },
  follower: { mediaJob: fromKubectl },
};
const ofAttempts: Record<keyof typeof attemptRules, Partial<FlatObserved>> = {
  suspended: { mediaJob: cases.suspended, isJobNeverCreated: false },
  lost: { isJobNeverCreated: false, isStorageAway: true },
  being_created: { isJobBeingCreated: true, pool: { name: 'x', spec: null } },
  without_pool: { pool: { name: 'x', spec: null }, isStorageAway: true },
  storage_away: { isStorageAway: true, hasCapacity: false },
  queued: { hasCapacity: false },
  to_create: {},
  storage_outage: chunksWith({ isStorageAway: true }, [chunks.failed(0, 20), chunks.podOf(1)]),
  ended_attempt: { job: { ...failed, isSuspended: true }, pod: running('process') },
  job_suspended: { job: cases.queuedByKueue },
  on_lost_nodes: chunksWith({}, [chunks.lost(0), chunks.lost(1)]),
  kept_running: chunksWith({}, [chunks.held(0, 0, 1)]),
  out_of_slots: chunksWith({}, [], 0),
  never_began: { job, pod: created(3_601), isOutdated: true },
  outdated: { job, pod: created(6), isOutdated: true },
  beginning: { job, pod },
  pending: { job, pod: created(6) },
  chunk_never_began: chunksWith({}, [chunks.podOf(0), chunks.waiting(1, 3_601)]),
  chunks_running: chunksWith({ unreadyNode: cases.lostNode }, [chunks.podOf(0)]),
  node_not_ready: { job, pod: running('process'), unreadyNode: cases.lostNode, runningMs: 0 },
  brief: { job, pod: running('process'), runningMs: 0 },
  running: { job, pod: running('process') },
};

function chunksWith(more: Partial<FlatObserved>, pods = chunks.units.pods, parallelism = 2): Partial<FlatObserved> {
  const units = { ...chunks.units, pods, parallelism };
  return { ...chunks.observed, units, pod: pods[0] ?? null, ...more };
}

describe('the situation of a MediaJob', () => {
  it.each(Object.entries({ ...ofMediaJobs, ...ofAttempts }))('is %s by the first rule that holds', (name, more) => {
    const observed = cases.observedOf({ ...cases.observed, ...more });
    expect(classify({ ...observed, nowMs: now, settings }).situation).toBe(name);
  });
});
