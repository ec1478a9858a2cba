import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rename } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { defaultDocument } from '#domain/media/profiles.ts';
import { masterKey, revisionOf } from '#domain/media/object-keys.ts';
import { findIsolation } from '#platform/commands/isolation.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

const readOnly = join(tmpdir(), 'reelwright-isolation');
const isolation = await findIsolation({ env: { PATH: process.env['PATH'] ?? '' }, readOnly });

/** The notes of a job's `process` steps that began. */
async function processesOf(rig: Rig, id: string) {
  return (await rig.notes()).filter(({ what, step, job }) => job === id && what === 'begin' && step === 'process');
}

/** Submits a job whose `process` does not end, and waits until it runs. */
async function running(rig: Rig): Promise<string> {
  const id = await rig.submit('slow-60000');
  await until(
    () => processesOf(rig, id),
    (found) => found.length > 0,
  );
  expect(await rig.processesOf(id)).not.toEqual([]);
  return id;
}

describe.skipIf(!inject('postgres'))('the process executor', () => {
  let rig: Rig;
  let worker: ReturnType<Rig['startWorker']>;
  const renewals = new Map<string, number>();

  beforeAll(async () => {
    rig = await openRig();
    await rig.profiles.replace([{ profile: { ...defaultDocument, name: 'default', crf: 30 }, rules: [] }]);
    const machine = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
    for (const name of ['.1000-abcdef', '-abcdef'])
      await mkdir(join(rig.config.workDir, `reelwright-${machine}-${process.pid}${name}`));
    const renewLease = rig.jobs.renewLease.bind(rig.jobs);
    rig.jobs.renewLease = (lease) => {
      renewals.set(lease.jobId, (renewals.get(lease.jobId) ?? 0) + 1);
      return renewLease(lease);
    };
    process.env['PLANTED_CANARY'] = 'must not be passed on';
    worker = rig.startWorker({ jobAttempts: 2, leaseMs: 3_000 });
  });
  afterAll(async () => {
    delete process.env['PLANTED_CANARY'];
    await rig.close();
  });

  it('a worker forgets the MediaProfiles of a cluster in which the database was used before', async () => {
    await until(
      () => rig.profiles.read(),
      (profiles) => profiles.length === 0,
    );
  });

  it('a worker removes the workspaces of an earlier process with its own process id', async () => {
    await until(rig.workspaces, (names) => names.length === 0);
  });

  it('a worker takes a ticket, runs the three steps in order, and records results of the specified shape', async () => {
    const id = await rig.submit('ok');
    const job = await rig.finished(id);
    expect(job).toMatchObject({
      status: 'completed',
      progress: 100,
      attempt: 1,
      failures: 0,
      phase: null,
      error: null,
    });
    expect(job.results).toMatchObject({
      format: 'jpg',
      key: expect.stringContaining(`/${revisionOf(id, 1)}/`) as string,
    });
    const steps = (await rig.notes()).map(({ step, what }) => `${step} ${what}`);
    expect(steps).toEqual(['fetch', 'process', 'publish'].flatMap((step) => [`${step} begin`, `${step} end`]));
    expect(await until(rig.workspaces, (left) => left.length === 0)).toEqual([]);
    expect(await worker.metrics.registry.metrics()).toContain('svc_queue_wait_seconds_count{queue="default"} 1');
  });

  it('C12.13: a worker publishes the top master playlist before a transcode is completed at 95 percent', async () => {
    const id = await rig.submit('ok', { type: 'video:transcode' });
    const job = await rig.finished(id);
    expect(job).toMatchObject({ status: 'completed', progress: 95 });
    const master = await rig.media.get(masterKey(job.hash));
    const lines = (await master?.body.toArray())?.join('') ?? '';
    expect(lines).toContain(`\n${revisionOf(id, 1)}/video/r64_h264/playlist.m3u8\n`);
  });

  it('each step gets its own environment and nothing of the worker’s', async () => {
    const id = await rig.submit('env');
    await rig.finished(id);
    const begun = (await rig.notes()).filter(({ what, job }) => job === id && what === 'begin');
    const all =
      'AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE HOME LANG LOG_LEVEL NODE_COMPILE_CACHE PATH RUNNER_PARENT RUNNER_TASK RUNNER_WORKSPACE TMPDIR'.split(
        ' ',
      );
    const named = Object.fromEntries(begun.map(({ step, names }) => [step, names]));
    expect(named).toEqual({
      fetch: [...all, 'SOURCE_BUCKET'].toSorted(),
      process: all,
      publish: [...all, 'MEDIA_BUCKET'].toSorted(),
    });
  });

  it.skipIf('reason' in isolation)(
    'what decodes reads no other process’s environment and writes no compiled module of others; process has no network',
    async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const source = `spy-${(server.address() as AddressInfo).port}`;
      for (const type of ['video:transcode', 'image:thumbnail'] as const) {
        const id = await rig.submit(source, { type });
        expect(await rig.finished(id)).toMatchObject({ status: 'completed' });
      }
      server.close();
      const spied = (await rig.notes()).filter(({ what }) => what === 'spy');
      const seen = Object.fromEntries(
        spied.map((note) => [note.step, [note.isConnected, (note.environments ?? 0) > 0, note.caches]]),
      );
      expect(seen).toEqual({
        fetch: [true, true, ['images', 'steps']],
        process: [false, false, []],
        publish: [true, true, ['images', 'steps']],
        all: [true, false, ['images']],
      });
    },
  );

  it('C12.9: a transient failure is counted and retried, and the job completes', async () => {
    const id = await rig.submit('exit-20-1');
    await rig.nowDue(id, 2);
    expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 1 });
    expect(await worker.metrics.registry.metrics()).toContain('svc_worker_retries_total{code="storage_error"} 1');
  });

  it('C12.9: a job fails with the reported error once its attempts are used up', async () => {
    const id = await rig.submit('exit-30');
    await rig.nowDue(id, 2);
    expect(await rig.finished(id)).toMatchObject({
      status: 'failed',
      attempt: 2,
      results: null,
      error: { code: 'resource_exhausted', retryable: true, attempt: 2 },
    });
  });

  it('C15.14: a fault of the source fails every stage of a full workflow and allows no retry', async () => {
    const job = await rig.finished(await rig.submit('exit-10', { type: 'video:full' }));
    expect(job).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'corrupt_input', retryable: false },
      results: {
        stages: { source: { status: 'failed' }, cover: { status: 'failed' }, transcode: { status: 'failed' } },
        retry_plan: { allowed: false },
      },
    });
  });

  it('C12.12, C12.13: a job whose manifest names a missing object does not complete', async () => {
    const id = await rig.submit('lose');
    await rig.nowDue(id, 2);
    const job = await rig.finished(id);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'storage_error' } });
    expect(await rig.media.head(masterKey(job.hash))).toBeNull();
  });

  it('C13.27: the processes of a cancelled job end within five seconds', async () => {
    const others = await rig.workspaces();
    const id = await running(rig);
    const cancelledAt = Date.now();
    const error = { code: 'cancelled' as const, message: 'cancelled', retryable: false, attempt: 1 };
    const end = { status: 'cancelled' as const, results: null, error, eventId: crypto.randomUUID(), now: new Date() };
    await rig.jobs.finish({ jobId: id, attempt: 1, ...end });
    await until(
      () => rig.processesOf(id),
      (pids) => pids.length === 0,
    );
    expect(Date.now() - cancelledAt).toBeLessThan(5_000);
    await until(rig.workspaces, (left) => left.every((name) => others.includes(name)));
    expect(await rig.find(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
  });

  it('a worker stops an attempt once another worker has the job', async () => {
    const id = await running(rig);
    await rig.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: false, delayMs: 60_000 });
    await until(
      () => rig.processesOf(id),
      (pids) => pids.length === 0,
    );
    expect(await rig.find(id)).toMatchObject({ status: 'processing', attempt: 2, failures: 0 });
  });

  it('a job that cannot be started is given back and costs no attempt', async () => {
    const away = `${rig.config.workDir}-away`;
    await rename(rig.config.workDir, away);
    const id = await rig.submit('ok');
    const isDelayed = 'select not_before > now() as is_delayed, attempt from jobs where id = $1';
    const row = await until(
      async () => (await rig.database.pool.query<{ is_delayed: boolean | null }>(isDelayed, [id])).rows[0],
      (found) => found?.is_delayed === true,
    );
    expect(row).toMatchObject({ attempt: 1 });
    await rename(away, rig.config.workDir);
    await rig.nowDue(id, 1);
    expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  });

  it('a lease is renewed three times in its duration', async () => {
    const startedAt = performance.now();
    const id = await rig.submit('slow-1500');
    await rig.finished(id);
    expect(renewals.get(id)).toBeGreaterThanOrEqual(1);
    // A second apart, less the half second between two checks.
    expect(renewals.get(id)).toBeLessThanOrEqual(Math.ceil((performance.now() - startedAt) / 500));
  });

  it('a job whose ticket was lost is run', async () => {
    const id = await rig.submit('ok', { ticket: false });
    expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  const vanished = { attempt: 1, owner: 'a worker that is no more' };

  it('C12.10: a job whose worker vanished is run again without a counted failure', async () => {
    const id = await rig.submit('ok', { ticket: false });
    await rig.jobs.claim({ ...vanished, jobId: id, leaseMs: 500 });
    expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  });
});

describe.skipIf(!inject('postgres'))('two workers', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(() => rig.close());

  it('C12.10: a stopped worker ends its processes, and the next worker takes its jobs without a counted failure', async () => {
    const first = rig.startWorker();
    const id = await running(rig);
    await first.stop();
    expect(await rig.processesOf(id)).toEqual([]);
    expect(await rig.workspaces()).toEqual([]);
    expect(await rig.find(id)).toMatchObject({ status: 'processing', attempt: 2, failures: 0 });
    rig.startWorker();
    await until(
      () => processesOf(rig, id),
      (found) => found.some(({ attempt }) => attempt === 2),
    );
  });
});
