import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import type { UnitRun } from '#domain/work/unit-run.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { DeliveredStore } from '#platform/postgres/delivered-store.ts';
import { JobStore, type NewJob } from '#platform/postgres/job-store.ts';
import { type UsageDimension, usageDimensions, usageOf, type UsageRow } from '#platform/postgres/usage-store.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { usageGaugesTask } from '../../controller/upkeep/usage-gauges.ts';
import { migratedDatabase } from '../../testing/databases.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { claimedJob, failure, newJob } from './postgres-fixtures.ts';

// docs/reference/contract.md, "Usage and quotas": what ends an attempt counts it, once.

const day = new Date().toISOString().slice(0, 10);
const images = { key: 'images/ab/x/1/thumb.webp', outputs: [] } as unknown as JobResults;
const stream = { source: { duration_sec: 60 }, video_tracks: [{}, {}], audio_tracks: [] } as unknown as JobResults;
const profile = { name: 'two', ladder: [{ codec: 'hevc' }, { short_side: 360 }] } as unknown as NamedProfile;

const ran = (ms: { fetch: number; process: number }, pod: string | null = null): UnitRun => ({
  unit: 'whole',
  chunk: null,
  pod,
  steps: [
    { step: 'fetch', started_at: new Date(0).toISOString(), duration_ms: 1_000, processor_ms: ms.fetch, code: null },
    {
      step: 'process',
      started_at: new Date(3_000).toISOString(),
      duration_ms: 2_000,
      processor_ms: ms.process,
      code: null,
    },
  ],
});

const soFar = (process: number) => ({ fetch: 40, process, publish: 0, pod: 0 });

describe.skipIf(!inject('postgres'))('usage', () => {
  let database: Database;
  let jobs: JobStore;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const created = await migratedDatabase();
    ({ drop } = created);
    database = openDatabase(created.url, { maxConnections: 20 });
    jobs = new JobStore(database);
  });
  afterAll(async () => {
    await database.close();
    await drop();
  });

  const usage = (keyId: string, by: readonly UsageDimension[] = ['day']) =>
    usageOf(database, { from: day, to: day, by, keyId, limit: 100 });
  const finishNamed = async (over: Partial<NewJob>) => {
    const { id } = await claimedJob(jobs, { keyId: 'named', ...over });
    await jobs.finish(failure(id));
  };
  const total = async (keyId: string) => (await usage(keyId))[0];

  it('C37.1: a job that ends counts once: its attempts, its source, and what it made', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'once', profile, sourceSizeBytes: 700 });
    const units = [ran({ fetch: 10, process: 400 })];
    await jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0, units });
    await jobs.claim({ jobId: id, attempt: 2, owner: 'w', leaseMs: 60_000 });
    const made = { objects: 3, bytes: 900 };
    const end = failure(id, 2, { status: 'completed', results: stream, error: null, made, units });
    await Promise.all([jobs.finish(end), jobs.finish(end), jobs.finish(end)]);
    expect(await usage('once', [...usageDimensions])).toEqual([
      {
        day,
        keyId: 'once',
        keyName: null,
        type: 'video:transcode',
        profile: 'two',
        codec: 'h264+hevc',
        jobs: 1,
        sourceBytes: 700,
        sourceMs: 60_000,
        outputBytes: 900,
        outputMs: 120_000,
        fetchMs: 20,
        processMs: 800,
        publishMs: 0,
        podMs: 10_000,
        wastedMs: 5_000,
        storedBytes: 900,
        deliveredBytes: 0,
      },
    ]);
  });

  it('C37.2: an attempt of which nobody reports took the time from its claim to its end, for nothing', async () => {
    const lost = await claimedJob(jobs, { keyId: 'lost' });
    await database.pool.query(
      `update jobs set lease_expires_at = now() - interval '1 s', claimed_at = now() - interval '90 s' where id = $1`,
      [lost.id],
    );
    await expect.poll(() => jobs.releaseLapsed()).toHaveLength(1);
    expect(await total('lost')).toMatchObject({ jobs: 0, processMs: 0, podMs: expect.closeTo(90_000, -3) as number });
    const { podMs, wastedMs } = (await total('lost')) as UsageRow;
    expect(wastedMs).toBe(podMs);
  });

  it('C37.2: a job of a cluster that is cancelled before its pod ran took no time of a pod', async () => {
    const { job } = await jobs.insertOrFind(newJob({ keyId: 'unscheduled' }));
    await jobs.claim({ jobId: job.id, attempt: 1, owner: 'kubernetes', leaseMs: Infinity });
    await database.pool.query(`update jobs set claimed_at = now() - interval '1 h' where id = $1`, [job.id]);
    await jobs.finish(failure(job.id, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }));
    expect(await total('unscheduled')).toMatchObject({ jobs: 1, podMs: 0, wastedMs: 0 });
  });

  it('C37.2: what a cancelled attempt ran is added to its end, once', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'cancelled' });
    await database.pool.query(`update jobs set claimed_at = now() - interval '9 s' where id = $1`, [id]);
    const current = { jobId: id, attempt: 1 };
    await jobs.noteWorkOfCancelled(current, [ran({ fetch: 1, process: 1 })]);
    await jobs.finish(failure(id, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }));
    expect(await total('cancelled')).toMatchObject({ jobs: 1, processMs: 0 });
    await jobs.noteWorkOfCancelled({ ...current, attempt: 2 }, [ran({ fetch: 1, process: 1 })]);
    for (let call = 0; call < 2; call += 1) await jobs.noteWorkOfCancelled(current, [ran({ fetch: 5, process: 700 })]);
    const { podMs, ...used } = (await total('cancelled')) as UsageRow;
    expect(used).toMatchObject({ jobs: 1, fetchMs: 5, processMs: 700, wastedMs: podMs });
    expect(podMs).toBeCloseTo(9_000, -3);
  });

  it('C37.19: an attempt whose worker is killed counts what its last renewal of the lease said, once', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'killed' });
    const lease = { jobId: id, attempt: 1, owner: 'worker-1', leaseMs: 60_000 };
    for (const ms of [100, 900]) expect(await jobs.renewLease({ ...lease, used: soFar(ms) })).toBe('held');
    // Before the first reading of a step there is none, and what was known stays.
    expect(await jobs.renewLease({ ...lease, leaseMs: -1_000, used: null })).toBe('held');
    await expect.poll(() => jobs.releaseLapsed()).toHaveLength(1);
    expect(await total('killed')).toMatchObject({ jobs: 0, fetchMs: 40, processMs: 900 });
    // The next attempt has said nothing yet.
    await jobs.claim({ ...lease, attempt: 2, leaseMs: -1_000 });
    await expect.poll(() => jobs.releaseLapsed()).toHaveLength(1);
    expect(await total('killed')).toMatchObject({ fetchMs: 40, processMs: 900 });
  });

  it('C37.19: of a cancelled attempt what its worker has said counts, and what it used since, once', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'stopped' });
    const current = { jobId: id, attempt: 1 };
    await jobs.renewLease({ ...current, owner: 'worker-1', leaseMs: 60_000, used: soFar(600) });
    await jobs.finish(failure(id, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }));
    expect(await total('stopped')).toMatchObject({ fetchMs: 40, processMs: 600 });
    for (let call = 0; call < 2; call += 1) await jobs.noteWorkOfCancelled(current, [ran({ fetch: 40, process: 700 })]);
    expect(await total('stopped')).toMatchObject({ fetchMs: 40, processMs: 700 });
  });

  it('C37.23: a cancelled attempt whose time is divided otherwise at its end counts it once', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'divided' });
    const current = { jobId: id, attempt: 1 };
    await jobs.renewLease({ ...current, owner: 'worker-1', leaseMs: 60_000, used: soFar(600) });
    await jobs.finish(failure(id, 1, { status: 'cancelled', error: jobErrorOf('cancelled', 1) }));
    await jobs.noteWorkOfCancelled(current, [ran({ fetch: 100, process: 560 })]);
    expect(await total('divided')).toMatchObject({ fetchMs: 100, processMs: 560 });
  });

  it('C37.19: an end with its units counts these, and not what was said before', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'ended' });
    await jobs.renewLease({ jobId: id, attempt: 1, owner: 'worker-1', leaseMs: 60_000, used: soFar(600) });
    await jobs.finish(failure(id, 1, { units: [ran({ fetch: 50, process: 800 })] }));
    expect(await total('ended')).toMatchObject({ fetchMs: 50, processMs: 800 });
  });

  it('C37.1: an end that is rolled back counts nothing, and repeated it counts once', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'repeated' });
    const units = [ran({ fetch: 0, process: 300 })];
    const end = failure(id, 1, { status: 'completed', results: images, error: null, units });
    const killed = { ...end, beforeCommit: () => Promise.reject(new Error('the process was killed here')) };
    await expect(jobs.finish(killed)).rejects.toThrow('killed');
    expect(await total('repeated')).toBeUndefined();
    await jobs.finish(end);
    await jobs.finish(end);
    expect(await total('repeated')).toMatchObject({ jobs: 1, processMs: 300 });
  });

  it('C37.3: bytes are stored from the end of a job until its results expire', async () => {
    const { id } = await claimedJob(jobs, { keyId: 'stored' });
    const made = { objects: 1, bytes: 500 };
    await jobs.finish(failure(id, 1, { status: 'completed', results: images, error: null, made }));
    expect(await total('stored')).toMatchObject({ outputBytes: 500, storedBytes: 500 });
    const expire = 'update jobs set results_expired = true where id = $1';
    await database.pool.query(expire, [id]);
    await database.pool.query(expire, [id]);
    await database.pool.query('update jobs set results = null where id = $1', [id]);
    expect(await total('stored')).toMatchObject({ outputBytes: 500, storedBytes: 0 });
  });

  it('C37.4: two hundred ends at once are all counted, and days and jobs come to the same sums', async () => {
    const keys = ['many-1', 'many-2'];
    const made = { objects: 1, bytes: 7 };
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, index) => claimedJob(jobs, { keyId: keys[index % 2] as string })),
    );
    const next = { attempt: 1, countsAsFailure: false, delayMs: 0 };
    await Promise.all(
      all.map(({ id }, index) => {
        const units = [ran({ fetch: index, process: 3 })];
        return index % 3 === 0
          ? jobs.nextAttempt({ ...next, jobId: id, units })
          : jobs.finish(failure(id, 1, { status: 'completed', results: stream, error: null, made, units }));
      }),
    );
    const { rows: ofJobs } = await database.pool.query(
      `select key_id as "keyId", count(finished_at)::float8 as jobs, sum(used_fetch_ms)::float8 as "fetchMs",
        sum(used_process_ms)::float8 as "processMs", sum(used_pod_ms)::float8 as "podMs",
        sum(used_wasted_ms)::float8 as "wastedMs", sum(output_ms)::float8 as "outputMs",
        sum(result_bytes)::float8 as "storedBytes"
      from jobs where key_id = any($1) group by key_id order by key_id`,
      [keys],
    );
    const ofDays = await Promise.all(keys.map((key) => usage(key, ['key'])));
    expect(ofDays.flat()).toMatchObject(ofJobs);
    expect(ofJobs).toMatchObject([{ jobs: 66 }, { jobs: 67 }]);
  });

  it('C37.5: usage by profile names the built-in one, and none where no stream is made', async () => {
    await finishNamed({});
    await finishNamed({ profile: { name: 'default', ladder: [{ short_side: 360 }] } as unknown as NamedProfile });
    await finishNamed({ type: 'video:cover', options: {}, idempotencyKey: 'a cover' });
    expect(await usage('named', ['profile', 'codec'])).toMatchObject([
      { profile: 'default', codec: 'h264', jobs: 2 },
      { profile: null, codec: null, jobs: 1 },
    ]);
  });

  it('C37.21: delivered bytes count for the job whose stream is played, else for the longest prefix of a key', async () => {
    const owner = { rights: ['read'] as const, profiles: null };
    await makeKey(database, { ...owner, name: 'short', hashPrefix: 'own-' });
    const long = await makeKey(database, { ...owner, name: 'long', hashPrefix: 'own-er-' });
    const { id } = await claimedJob(jobs, { hash: 'own-er-1', keyId: 'viewed', profile });
    const track = { init: 'videos/own-er-1/0123456789abcdef/video/init.mp4' };
    const played = { ...stream, video_tracks: [track] } as unknown as JobResults;
    await jobs.finish(failure(id, 1, { status: 'completed', results: played, error: null }));
    const servers = [new DeliveredStore(database), new DeliveredStore(database)];
    const bytesOf = new Map([
      ['own-er-1', 5_000],
      ['own-er-2', 70],
      ['unknown', 9],
      ['', 1],
    ]);
    await Promise.all([...servers, ...servers].map((server) => server.add(bytesOf)));
    const byAll = ['type', 'profile', 'codec'] as const;
    expect(await usage('viewed', byAll)).toMatchObject([
      { type: 'video:transcode', profile: 'two', codec: 'h264+hevc', jobs: 1, deliveredBytes: 20_000 },
    ]);
    expect(await usage(long.id, byAll)).toMatchObject([{ profile: 'default', jobs: 0, deliveredBytes: 280 }]);
    const { rows } = await database.pool.query(
      `select sum(delivered_bytes)::int as sum from usage_daily where key_id = ''`,
    );
    expect(rows).toEqual([{ sum: 40 }]);
  });

  it('C37.5: sums are those of the days, whatever is told apart, of whole months, parts of them and single days', async () => {
    // Each second day from 10 January 2020 to 20 March 2021, with another number of jobs in each row.
    const types = ['image:thumbnail', 'video:cover'];
    const rows = Array.from({ length: 218 }, (_, n) => ({
      day: new Date(Date.UTC(2020, 0, 10 + 2 * n)).toISOString().slice(0, 10),
      key: `sum-${n % 3}`,
      type: types[n % 2] ?? '',
      slot: n % 17,
      jobs: 1 + ((n * 7_919) % 1_000),
    }));
    const values = [rows.map((row) => row.day), rows.map(({ key }) => key), rows.map(({ type }) => type)];
    await database.pool.query(
      `insert into usage_daily
       select day, key, type, '', '', slot, jobs, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
       from unnest($1::date[], $2::text[], $3::text[], $4::int[], $5::int[]) as given (day, key, type, slot, jobs)`,
      [...values, rows.map(({ slot }) => slot), rows.map((row) => row.jobs)],
    );
    // Changed, moved to another month, and deleted: the sums follow.
    await database.pool.query(`update usage_daily set jobs = jobs + 3 where key_id = 'sum-1'`);
    await database.pool.query(`update usage_daily set day = day - 40 where key_id = 'sum-2' and day >= '2021-01-01'`);
    await database.pool.query(`delete from usage_daily where key_id = 'sum-0' and day < '2020-03-05'`);
    const { rows: kept } = await database.pool.query<{ day: string; keyId: string; type: string; jobs: number }>(
      `select day::text, key_id as "keyId", type, jobs::int from usage_daily where key_id like 'sum-%'`,
    );
    const dimensions = ['day', 'keyId', 'type'] as const;
    for (const [from, to] of [
      ['2020-01-01', '2020-12-31'],
      ['2020-02-10', '2021-02-09'],
      ['2020-05-05', '2020-05-25'],
      ['2020-06-30', '2020-08-01'],
      ['2020-03-02', '2020-03-02'],
    ] as const)
      for (const keyId of [null, 'sum-1'])
        for (let asked = 1; asked < 8; asked += 1) {
          const told = dimensions.filter((_, bit) => (asked & (1 << bit)) !== 0);
          const by = told.map((name) => (name === 'keyId' ? 'key' : name));
          const expected = new Map<string, number>();
          for (const row of kept) {
            if (row.day < from || row.day > to || (keyId !== null && row.keyId !== keyId)) continue;
            const group = told.map((name) => row[name]).join(' ');
            expected.set(group, (expected.get(group) ?? 0) + row.jobs);
          }
          const found = await usageOf(database, { from, to, by, keyId, limit: 1_000 });
          // What was moved or deleted leaves a sum of nothing.
          const sums = found
            .filter((row) => row.jobs !== 0)
            .map((row) => [told.map((name) => row[name]).join(' '), row.jobs] as const);
          expect(new Map(sums), `${from} to ${to} of ${keyId} by ${by.join()}`).toEqual(expected);
          expect(sums).toHaveLength(expected.size);
        }
  });

  it('C37.21: the role of delivery adds bytes without any right on usage', async () => {
    await database.transaction(async (client) => {
      await client.query('create role only_delivers');
      await client.query('set local role only_delivers');
      await client.query(`select note_delivered(array['anything'], array[3::bigint])`);
      await client.query('savepoint before');
      await expect(client.query('select from usage_daily')).rejects.toThrow('permission denied');
      await client.query('rollback to before');
      await client.query('reset role');
      await client.query('drop role only_delivers');
    });
  });

  it('C37.16: the metrics have the usage of the day by type, and no API key', async () => {
    const { id } = await claimedJob(jobs, {
      keyId: 'feedface',
      type: 'video:preview',
      options: {},
      idempotencyKey: 'm',
    });
    const units = [ran({ fetch: 500, process: 3_000 })];
    await jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0, units });
    await jobs.finish(failure(id, 2));
    const metrics = new Metrics();
    await usageGaugesTask({ jobs, metrics }).work(new AbortController().signal);
    const text = await metrics.registry.metrics();
    for (const line of [
      'svc_usage_jobs{type="video:preview"} 1',
      'svc_usage_processor_seconds{type="video:preview",step="process"} 3',
      'svc_usage_pod_seconds{type="video:preview"} 5',
      'svc_usage_wasted_seconds{type="video:preview"} 5',
      'svc_usage_output_minutes{type="video:preview"} 0',
    ])
      expect(text).toContain(`${line}\n`);
    expect(text).not.toContain('feedface');
  });
});
