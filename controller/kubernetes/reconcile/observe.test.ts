import { describe, expect, it } from 'vitest';
import { exampleJob } from '../../../testing/example-job.ts';
import { oneKey } from '../../../testing/k8s/one-key.ts';
import { splitKey } from '#domain/media/object-keys.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import { PoolSlots } from '../slots/pool-slots.ts';
import { ClaimedJobs } from '../slots/claimed-jobs.ts';
import { observe, type ObservePorts } from './observe.ts';

const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const row = exampleJob({ id, type: 'video:transcode', phase: 'encoding' });
const mediaJob = {
  metadata: { name: `mj-${id}`, namespace: 'r', uid: id },
  spec: { type: 'video:transcode' },
} as MediaJob;

const jobOf = (suffix: string, more: Partial<JobSnapshot> = {}): JobSnapshot => ({
  metadata: { name: `mj-${id}-1${suffix}` },
  isSuspended: false,
  conditions: [],
  hasPod: true,
  ...more,
});

/** Ports whose cache shows `appears` once the media bucket is read. */
function portsOf(shown: readonly JobSnapshot[], appears: JobSnapshot): ObservePorts {
  const jobs = [...shown];
  const slots = new PoolSlots({
    turns: oneKey,
    claimed: new ClaimedJobs(),
    concurrencyOf: () => 4,
    imageSlotsOf: () => 0,
    jobs: { claim: async () => null },
  });
  const media = {
    get: async (key: string) => {
      expect(key).toBe(splitKey(id));
      jobs.push(appears);
      return null;
    },
  };
  const ports: Partial<Record<keyof ObservePorts, unknown>> = {
    jobs: { find: async () => row },
    caches: {
      job: (name: string) => jobs.find(({ metadata }) => metadata.name === name) ?? null,
      jobsOf: () => [...jobs],
      podOf: () => null,
      podsOf: () => [],
      nodes: { unready: () => null },
      podCreationFailures: { of: async () => null },
      pools: { get: () => undefined },
    },
    slots,
    turns: oneKey,
    media,
    ownWrites: { sinceMs: () => Infinity },
    progressRate: { hasToken: () => true },
    manifests: { isOutdated: () => false },
    storageWatch: { isAway: false, problem: null, isOutage: async () => false },
    runnerNamespace: 'r',
    now: () => 0,
  };
  return ports as unknown as ObservePorts;
}

describe('the observation of a MediaJob', () => {
  it('the Job of the attempt that appears while the bucket is read is not taken for one of another attempt', async () => {
    const split = jobOf('', { conditions: [{ type: 'Complete', status: 'True', reason: '' }] });
    const indexed = { parallelism: 1, completions: 2, completed: '', failed: '' };
    const observed = await observe(mediaJob, portsOf([split], jobOf('-c', { indexed })), true);
    expect(observed?.units?.kind).toBe('split');
    expect(observed?.current.job).toBe(split);
    expect(observed?.otherJobs).toEqual([]);
  });
});
