import { describe, expect, it, vi } from 'vitest';
import { exampleJob } from '../../../testing/example-job.ts';
import type { Job } from '#domain/jobs/job.ts';
import { KubeError, type KubeReason } from '#platform/kubernetes/errors.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { OwnMark } from '../manifests/own-mark.ts';
import { ClaimedJobs } from '../slots/claimed-jobs.ts';
import { RunningJobs } from '../slots/running-jobs.ts';
import { Followers } from './followers.ts';
import { showQueuedJobs } from './queued-jobs.ts';
import { Resync } from './resync.ts';

const log = createLogger({ level: 'silent', name: 'test' });
const row = exampleJob({
  priority: 7,
  pool: 'gpu',
  callbackUrl: 'https://hooks.example/?secret',
  profile: { name: 'mobile' } as unknown as Job['profile'],
});
const key = `r/mj-${row.id}`;
const mediaJob = (more: Partial<MediaJob> = {}): MediaJob => ({
  metadata: { name: `mj-${row.id}`, namespace: 'r', uid: 'u', labels: { 'reelwright.dev/job-id': row.id } },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
  status: { attempt: 1, progress: 10 },
  ...more,
});
const refusal = (reason: KubeReason) => new KubeError('refused', { status: 409, reason });

const jobOf = (n: number) => exampleJob({ id: `0000000${n}-0000-4000-8000-000000000000`, status: 'queued' });
const shown = (n: number, more: object = {}) => ({
  metadata: { name: `mj-${jobOf(n).id}`, labels: { 'reelwright.dev/job-id': jobOf(n).id } },
  ...more,
});

const ended = { status: { conditions: [{ type: 'Complete', status: 'True' }] } };

/** A leader that has claimed `row`, whose cache shows what a test puts there. */
function leader(claimed: readonly Job[] = [row]) {
  const world = {
    nowMs: 1_000_000,
    shown: undefined as MediaJob | undefined,
    isDeletionPending: false,
    sinceMs: 60_000,
    claimed,
    /** The errors that creations meet, in turn. */
    errors: [] as KubeError[],
  };
  const requests: object[] = [];
  const added: string[] = [];
  const calls: string[] = [];
  const slots = { claimed: new ClaimedJobs(), running: new RunningJobs() };
  const ports = {
    client: {
      create: async (_: object, object: object) => {
        requests.push(object);
        calls.push('create');
        const error = world.errors.shift();
        if (error !== undefined) throw error;
      },
      delete: async (_: object, ref: object, options: object) => void requests.push({ ...ref, ...options }),
    },
    jobs: {
      claimedBy: async () => world.claimed,
      find: async () => world.claimed[0] ?? null,
      nextAttempt: async ({ attempt, countsAsFailure }: { attempt: number; countsAsFailure: boolean }) => {
        calls.push(`after ${attempt}${countsAsFailure ? ' counted' : ''}`);
        return { attempt: attempt + 1 };
      },
      claim: async ({ attempt }: { attempt: number }) => {
        calls.push(`claim ${attempt}`);
        return row;
      },
      statesOf: async () => [],
      waiting: async ({ limit }: { limit: number }) => waiting.slice(0, limit),
    },
    caches: {
      isDeletionPending: () => world.isDeletionPending,
      job: () => null,
      keyOfJob: (id: string) => (world.shown !== undefined && id === row.id ? key : undefined),
      mediaJob: () => world.shown,
      mediaJobs: new Map(),
    },
    slots,
    ownWrites: { sinceMs: () => world.sinceMs },
    followers: new Followers(),
    workQueue: { add: (of: string) => void added.push(of) },
    mark: new OwnMark(['key']),
    runnerNamespace: 'r',
    log,
    now: () => world.nowMs,
  };
  const waiting: Job[] = [];
  const resync = new Resync(ports as unknown as ConstructorParameters<typeof Resync>[0], { claims: () => [] });
  return { world, requests, added, calls, slots, resync, ports, waiting };
}

describe('the MediaJob of a job', () => {
  it('a MediaJob has what its job asked for, and nothing of its webhook', async () => {
    const { resync, requests } = leader();
    await resync.createMediaJob(row);
    await resync.createMediaJob(row);
    expect(requests).toEqual([
      {
        metadata: {
          namespace: 'r',
          name: `mj-${row.id}`,
          labels: { 'reelwright.dev/job-id': row.id, 'reelwright.dev/pool': 'gpu' },
          annotations: new OwnMark(['key']).annotationsFor(row.id),
        },
        spec: {
          type: row.type,
          hash: row.hash,
          source: row.source,
          options: {},
          pool: 'gpu',
          priority: 7,
          profile: 'mobile',
        },
      },
    ]);
  });

  it('a MediaJob whose creation failed is requested again, and one that exists is no error', async () => {
    const { world, resync, requests } = leader();
    world.errors = [refusal('Unreachable'), refusal('AlreadyExists')];
    await expect(resync.createMediaJob(row)).rejects.toMatchObject({ reason: 'Unreachable' });
    await resync.createMediaJob(row);
    expect(requests).toHaveLength(2);
  });

  it('a stranger’s MediaJob under the name of a job is removed by its UID, and the job gets its own', async () => {
    const { world, resync, requests } = leader();
    world.errors = [refusal('AlreadyExists')];
    world.shown = mediaJob({ metadata: { name: `mj-${row.id}`, namespace: 'r', uid: 'stranger' } });
    await resync.createMediaJob(row);
    expect(requests).toMatchObject([{}, { name: `mj-${row.id}`, uid: 'stranger' }, { spec: { type: row.type } }]);
  });
});

describe('the comparison of claimed jobs with the cache', () => {
  it('a claimed job without a MediaJob gets one, and then a new attempt that costs nothing', async () => {
    const { resync, calls, slots, world } = leader();
    await resync.run();
    expect(calls).toEqual(['create', 'after 1', 'claim 2']);
    expect(slots.running.isNeverCreated(`mj-${row.id}-2`)).toBe(true);
    world.errors = [refusal('NotFound')];
    world.nowMs += 5_000;
    await expect(resync.run()).rejects.toMatchObject({ reason: 'NotFound' });
    expect(calls).toEqual(['create', 'after 1', 'claim 2', 'create']);
  });

  it('a claimed job whose MediaJob was requested lately, or is to be cancelled, is left alone', async () => {
    const { world, resync, calls } = leader();
    await resync.createMediaJob(row);
    world.nowMs += 14_999;
    await resync.run();
    expect(calls).toEqual(['create']);
    world.nowMs += 1;
    world.isDeletionPending = true;
    await resync.run();
    world.isDeletionPending = false;
    world.claimed = [{ ...row, status: 'cancelled' }];
    await resync.run();
    expect(calls).toEqual(['create']);
  });

  it.each<[string, MediaJob['status'], sinceMs: number, isReconciled: boolean]>([
    ['five percent more', { attempt: 1, progress: 10 }, 5_000, true],
    ['less than five percent more', { attempt: 1, progress: 11 }, 5_000, false],
    ['more than was written just now', { attempt: 1, progress: 0 }, 4_999, false],
    ['another attempt', { attempt: 2, progress: 15 }, 0, true],
  ])('a claimed job with %s than its MediaJob shows is reconciled: %j', async (_, status, sinceMs, isReconciled) => {
    const { world, resync, added } = leader([{ ...row, progress: 15 }]);
    world.shown = mediaJob(status === undefined ? {} : { status });
    world.sinceMs = sinceMs;
    await resync.run();
    expect(added).toEqual(isReconciled ? [key] : []);
  });

  it('a job that is no longer claimed is reconciled, and loses its slot', async () => {
    const { world, resync, added, slots } = leader();
    world.shown = mediaJob({ spec: { type: 'video:cover', hash: 'h', source: 's', pool: 'other', suspend: true } });
    await resync.run();
    expect([slots.claimed.has(row.id), slots.claimed.count('other'), slots.claimed.count('gpu')]).toEqual([true, 0, 0]);
    added.length = 0;
    world.claimed = [];
    await resync.run();
    expect([added, slots.claimed.has(row.id)]).toEqual([[key], false]);
  });
});

/** The jobs, of five that wait, that get a MediaJob in one round. */
async function made(queuedMediaJobsMax: number, { claimed = [], batchable = [] }: Record<string, number[]>) {
  const { ports, resync, requests, waiting, slots } = leader([]);
  waiting.push(...[1, 2, 3, 4, 5].map(jobOf));
  for (const n of claimed)
    slots.claimed.set(jobOf(n).id, { pool: 'default', isSuspended: false, priority: 0, isImage: false });
  // One that waits, those that run, and one that has ended.
  const mediaJobs = new Map([shown(9), ...claimed.map((n) => shown(n)), shown(8, ended)].map((each, n) => [n, each]));
  const batches = { mayTake: ({ id }: Job) => batchable.some((n) => jobOf(n).id === id) };
  const stopping = new AbortController();
  const read = vi.fn<typeof ports.jobs.waiting>(ports.jobs.waiting);
  const jobs = { waiting: read };
  const given = { ...ports, jobs, caches: { ...ports.caches, mediaJobs }, resync, batches, queuedMediaJobsMax };
  const showing = showQueuedJobs(given as unknown as Parameters<typeof showQueuedJobs>[0], stopping.signal);
  if (queuedMediaJobsMax > 1) await vi.waitFor(() => expect(read).toHaveBeenCalled());
  await new Promise(setImmediate);
  stopping.abort();
  await showing;
  return requests.map((each) => Number((each as MediaJob).metadata?.name?.[10]));
}

it('as many of the first waiting jobs are shown as may be, but those that run or that a batch may take', async () => {
  expect(await made(3, {})).toEqual([1, 2]);
  expect(await made(3, { claimed: [1], batchable: [2] })).toEqual([3]);
  expect(await made(6, { batchable: [2, 3] })).toEqual([1, 4, 5]);
  expect([await made(1, {}), await made(0, {})]).toEqual([[], []]);
});
