import { describe, expect, it, vi } from 'vitest';
import { exampleJob } from '../../../testing/example-job.ts';
import { oneKey } from '../../../testing/k8s/one-key.ts';
import { mediaJob as exampleMediaJob, observed as flat, observedOf } from '../../../testing/k8s/plan-cases.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import { KubeError, type KubeReason } from '#platform/kubernetes/errors.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { ClaimedJobs } from '../slots/claimed-jobs.ts';
import { PoolSlots } from '../slots/pool-slots.ts';
import type { Action } from '../plan/observed.ts';
import { applyAction, type ApplyPorts } from './apply.ts';

const row = exampleJob({ type: 'video:cover' });
const mediaJob = { ...exampleMediaJob, metadata: { ...exampleMediaJob.metadata, name: `mj-${row.id}` } };
const name = `mj-${row.id}-1`;
const next = { kind: 'whole' as const, split: null, chunks: [] };
const units = { kind: 'whole' as const, pending: null, pods: [], parallelism: 1, turn: null, next, isUnread: false };

const secretOf = (attempt: number) => `Secret mj-${row.id}-${attempt}-key`;
const refusal = (reason: KubeReason, message: string) => new KubeError(message, { status: 400, reason });

/**
 * The effects of an action on the API server, the rows and the slots, where the server answers a creation with `error`.
 */
function world(error: Error | null = null, of: Job = row) {
  const requests: string[] = [];
  const report = vi.fn<(progress: object) => Promise<void>>(async () => undefined);
  const recordWaiting = vi.fn<(attempt: object, reason: object) => Promise<void>>(async () => undefined);
  const finish = vi.fn<(end: object) => Promise<null>>(async () => null);
  const slots = new PoolSlots({
    turns: oneKey,
    claimed: new ClaimedJobs(),
    concurrencyOf: () => 4,
    imageSlotsOf: () => 0,
    jobs: { claim: async () => null },
  });
  slots.add(of, { pool: 'default', isSuspended: false, priority: 0, isImage: false });
  const client = {
    create: async ({ kind }: { kind: string }, { metadata }: { metadata: { name: string } }) => {
      requests.push(`create ${kind} ${metadata.name}`);
      if (kind === 'Job' && error !== null) throw error;
    },
    delete: async ({ kind }: { kind: string }, ref: { name: string }, options?: object) => {
      requests.push(`delete ${kind} ${ref.name}${options === undefined ? '' : ` ${JSON.stringify(options)}`}`);
      throw refusal('NotFound', 'there is none');
    },
    mergePatch: async ({ kind }: { kind: string }, _: object, patch: object) => {
      requests.push(`patch ${kind} ${JSON.stringify(patch)}`);
    },
  };
  const statuses = { write: vi.fn<() => Promise<void>>(async () => undefined), recordProblem: vi.fn<() => void>() };
  const ports = {
    client,
    slots,
    statuses,
    jobs: { report, recordWaiting, finish },
    contentKeys: { findOrCreate: async () => ({ kid: 'k', key: Buffer.from('key') }) },
    manifests: { manifestOf: () => ({ metadata: { name } }), isOfOtherVersion: () => false },
    reportFor: () => null,
    metrics: {
      workerTasks: { inc: () => undefined },
      workerTaskDuration: { observe: () => undefined },
      jobFailures: { inc: () => undefined },
      processorSeconds: { inc: () => undefined },
    },
    clock: () => new Date(0),
    randomUuid: () => 'u',
    log: createLogger({ level: 'silent', name: 'test' }),
    baseUrl: 'https://m',
    now: () => 0,
  } as unknown as ApplyPorts;
  const seen = observedOf({ ...flat, mediaJob, row: of, units });
  const apply = (action: Action) => applyAction(action, seen, ports);
  return { requests, report, recordWaiting, finish, slots, statuses, apply };
}

describe('the creation of a Job', () => {
  it('a Job that was created before counts as created', async () => {
    const { apply, slots } = world(refusal('AlreadyExists', 'it is there'));
    expect(await apply({ do: 'createJob' })).toBe('continue');
    expect([slots.running.isBeingCreated(name), slots.running.count('default')]).toEqual([true, 1]);
  });

  it.each<KubeReason>(['Unreachable', 'TooManyRequests', 'Conflict', 'NotFound'])(
    'a Job whose creation failed by %s is created again, and has no slot until then',
    async (reason) => {
      const { apply, slots, finish, statuses } = world(refusal(reason, 'not now'));
      await expect(apply({ do: 'createJob' })).rejects.toMatchObject({ reason });
      expect([slots.running.isNeverCreated(name), slots.running.count('default')]).toEqual([true, 0]);
      expect([slots.claimed.has(row.id), finish.mock.calls, statuses.write.mock.calls]).toEqual([true, [], []]);
    },
  );

  it('a quota of Jobs shows on the MediaJob and to callers, and the creation is tried again', async () => {
    const message = 'jobs.batch "x" is forbidden: exceeded quota: few, requested: count/jobs.batch=1';
    const { apply, statuses, recordWaiting } = world(refusal('Forbidden', message));
    await expect(apply({ do: 'createJob' })).rejects.toMatchObject({ reason: 'Forbidden' });
    expect(statuses.write.mock.calls).toMatchObject([[{}, { phase: 'quota_exceeded' }]]);
    expect(statuses.write.mock.calls[0]?.at(1)).not.toHaveProperty('attempt');
    expect(statuses.recordProblem.mock.calls).toMatchObject([[{}, 'default', { reason: 'QuotaExceeded' }]]);
    expect(recordWaiting.mock.calls).toEqual([
      [
        { jobId: row.id, attempt: 1 },
        { code: 'quota_exceeded', message },
      ],
    ]);
  });

  it('a missing right is no quota', async () => {
    const { apply, statuses } = world(refusal('Forbidden', 'user "x" cannot create resource "jobs"'));
    await expect(apply({ do: 'createJob' })).rejects.toMatchObject({ reason: 'Forbidden' });
    expect(statuses.write.mock.calls).toEqual([]);
  });

  it('a Job that the API server refuses as invalid fails its job, which gives up its slots', async () => {
    const { apply, finish, slots } = world(refusal('Invalid', 'spec.template.spec.nodeSelector: invalid'));
    expect(await apply({ do: 'createJob' })).toBe('observe_again');
    expect(finish.mock.calls).toMatchObject([
      [{ jobId: row.id, attempt: 1, status: 'failed', error: { code: 'internal', attempt: 1 } }],
    ]);
    expect([slots.claimed.has(row.id), slots.running.count('default')]).toEqual([false, 0]);
  });

  it('the key of an encrypted stream is there before its Job, and the keys of the last attempts are deleted', async () => {
    const encrypted = exampleJob({ type: 'video:transcode', options: { encrypt: true }, attempt: 6 });
    const { apply, requests } = world(null, encrypted);
    await apply({ do: 'createJob' });
    expect(requests).toEqual([
      ...[5, 4, 3, 2].map((attempt) => `delete ${secretOf(attempt)}`),
      `create ${secretOf(6)}`,
      `create Job ${name}`,
    ]);
  });
});

it.each<[JobPhase, number, JobPhase, number | undefined, number]>([
  ['encoding', 40, 'suspended', undefined, 40],
  ['suspended', 40, 'scheduling', undefined, 40],
  ['scheduling', 0, 'encoding', 0.5, 42],
  ['encoding', 60, 'probing', undefined, 3],
])(
  'a job at %s with progress %i that reports %s (done: %s) shows progress %i',
  async (phase, progress, reported, fraction, expected) => {
    const { apply, report } = world(null, exampleJob({ phase, progress }));
    await apply({ do: 'reportPhase', phase: reported, ...(fraction === undefined ? {} : { fraction }) });
    expect(report.mock.calls).toMatchObject([[{ jobId: row.id, attempt: 1, phase: reported }]]);
    expect(report.mock.calls[0]?.[0]).toMatchObject({ progress: expected });
  },
);

it('a Job is deleted and scaled by its UID, and one that was deleted before is no error', async () => {
  const { apply, requests } = world();
  const job = { metadata: { name, namespace: 'r', uid: 'u' }, isSuspended: false, conditions: [], hasPod: true };
  await apply({ do: 'deleteJob', job });
  await apply({ do: 'scaleJob', job, parallelism: 3 });
  expect(requests).toEqual([
    `delete Job ${name} {"uid":"u","propagation":"Background"}`,
    'patch Job {"metadata":{"uid":"u"},"spec":{"parallelism":3}}',
  ]);
});
