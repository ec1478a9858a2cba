import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { cleanupTask } from '../../controller/upkeep/cleanup.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import { retentionTasks } from '../../controller/upkeep/retention.ts';
import { fillTables, type ManyRows } from '../../testing/many-rows.ts';
import { repeatedQueries } from '../../testing/repeated-queries.ts';
import { startPostgres } from '../../testing/servers.ts';
import { startPeer } from '../load/peer-process.ts';
import { type BenchLine, type BenchSuite, interleave, median, shown } from '../harness.ts';

// The tables of a busy installation after years (BENCH_ROWS jobs of 100 API keys, ten million by default, and twice as
// many webhook events and attempts): how long each repeated query takes, and what cleanup and retention cost
// submissions, which come from a process of their own, like a server's. The bucket is empty and costs nothing, so that
// the database is what is measured: a folder takes most of the tasks' processor time. Ten million take up about 25 GB.

const rowsOf = (jobs: number): ManyRows => ({
  jobs,
  ofOneHash: Math.max(20_000, Math.round(jobs / 100)),
  unfinished: Math.min(50_000, Math.round(jobs / 10)),
  events: Math.round(jobs * 0.85),
  ofOneHost: Math.round(jobs / 10),
  attempts: Math.round(jobs * 1.15),
});
const roundMs = 3_000;
/** Rounds are short and figures of a busy machine far apart. */
const roundsMin = 6;
const aimPerSecond = 500;
const dayMs = 86_400_000;

export const rowsSuite: BenchSuite = {
  name: 'rows',
  missing: () => Promise.resolve(null),
  async run({ isQuick, rounds }) {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      const postgres = await startPostgres();
      stops.push(() => postgres.stop());
      const database = openDatabase(postgres.url, { statementTimeoutMs: 3_600_000 });
      stops.push(() => database.close());
      await migrate(database);
      const rows = rowsOf(Number(process.env['BENCH_ROWS'] ?? (isQuick ? 200_000 : 10_000_000)));
      await load(database, rows);
      const callers = await startPeer('bare-submissions.ts', postgres.url);
      stops.push(() => callers.stop());
      const submit = () => submissionsPerSecond(callers.url);
      return [...(await queryLines(database, rows)), ...(await besideSubmissions(database, submit, rounds))];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/** Fills the tables with few checkpoints on the way. */
async function load({ pool }: Database, rows: ManyRows): Promise<void> {
  const startMs = performance.now();
  for (const setting of ["max_wal_size = '8GB'", "checkpoint_timeout = '1h'", "maintenance_work_mem = '1GB'"])
    await pool.query(`alter system set ${setting}`);
  await pool.query('select pg_reload_conf()');
  await fillTables(pool, rows);
  await pool.query('checkpoint');
  const { rows: sizes } = await pool.query<{ size: string }>(
    'select pg_size_pretty(pg_database_size(current_database())) as size',
  );
  const loadedSec = Math.round((performance.now() - startMs) / 1000);
  process.stdout.write(`  ${rows.jobs} jobs loaded in ${loadedSec} s, ${sizes[0]?.size}\n`);
}

/** The claim and the slowest of all queries, each the median of three calls; writes are rolled back. */
async function queryLines(database: Database, rows: ManyRows): Promise<BenchLine[]> {
  const times: { what: string; ms: number }[] = [];
  for (const [what, , call] of repeatedQueries(rows)) {
    const figures: number[] = [];
    for (let n = 0; n < 3; n++) {
      const client = await database.pool.connect();
      try {
        await client.query('begin');
        const startMs = performance.now();
        const pool = Object.assign(client, { options: database.pool.options }) as unknown as Database['pool'];
        await call({ ...database, pool, transaction: (work) => work(client) });
        figures.push(performance.now() - startMs);
        await client.query('rollback');
      } finally {
        client.release();
      }
    }
    times.push({ what, ms: median(figures) });
    process.stdout.write(`  ${median(figures).toFixed(1).padStart(7)} ms  ${what}\n`);
  }
  const [slowest] = times.toSorted((one, other) => other.ms - one.ms);
  const claimMs = times.find(({ what }) => what === 'a claim')?.ms ?? Number.NaN;
  const line = { unit: 'ms', peer: `${times.length} queries` } as const;
  return [
    {
      ...line,
      id: 'rows.queries',
      what: `the slowest repeated query over ${rows.jobs} jobs`,
      value: slowest?.ms ?? Number.NaN,
      ours: slowest?.what ?? '',
    },
    { ...line, id: 'rows.claim', what: 'a claim beside as many', value: claimMs, ours: `${claimMs.toFixed(1)} ms` },
  ];
}

/** Submissions while cleanup and retention work, beside submissions alone; and how many rows those two work off. */
async function besideSubmissions(
  database: Database,
  submit: () => Promise<number>,
  rounds: number,
): Promise<BenchLine[]> {
  let workedOff = 0;
  const dependencies = {
    cleanup: new CountedCleanup(database, (rows) => (workedOff += rows)),
    retention: new CountedRetention(database, (rows) => (workedOff += rows)),
    fence: new DeletionFence(database),
    media: emptyBucket,
    metrics: new Metrics(),
    log: createLogger({ level: 'silent', name: 'bench' }),
  };
  const retentionTimes = { jobRetentionMs: dayMs, revisionRetentionMs: dayMs };
  const cleanup = cleanupTask({ ...dependencies, graceMs: 3_600_000 });
  const [revisions, retention] = retentionTasks({ ...dependencies, ...retentionTimes });
  if (revisions === undefined || retention === undefined) throw new Error('there is no task for retention');
  const rates: Record<string, number[]> = { cleanup: [], retention: [], revisions: [] };
  const besides = (name: string, task: PeriodicTask) => async () => {
    const stopping = AbortSignal.timeout(roundMs);
    const before = workedOff;
    const [submitted] = await Promise.all([submit(), task.work(stopping)]);
    rates[name]?.push((workedOff - before) / (roundMs / 1000));
    return submitted;
  };
  const figures = await interleave({
    rounds: Math.max(rounds, roundsMin),
    contenders: {
      alone: submit,
      cleanup: besides('cleanup', cleanup),
      retention: besides('retention', retention),
      revisions: besides('revisions', revisions),
    },
  });
  const alone = median(figures.alone);
  return (['cleanup', 'retention', 'revisions'] as const).flatMap((name): BenchLine[] => {
    const [submitted, rate] = [median(figures[name]), median(rates[name] ?? [])];
    return [
      {
        id: `rows.submissions-${name}`,
        what: `submissions beside ${name}, to alone`,
        value: submitted / alone,
        unit: 'ratio',
        ours: shown(figures[name], '/s'),
        peer: shown(figures.alone, '/s'),
      },
      {
        id: `rows.${name}`,
        what: `rows a second of ${name}, to ${aimPerSecond}`,
        value: rate / aimPerSecond,
        unit: 'ratio',
        ours: shown(rates[name] ?? [], '/s'),
        peer: `${aimPerSecond}/s`,
      },
    ];
  });
}

const emptyBucket = {
  head: () => Promise.resolve(null),
  get: () => Promise.resolve(null),
  // oxlint-disable-next-line require-yield -- it lists nothing
  list: async function* () {},
  delete: () => Promise.resolve(),
} as Partial<ObjectStore> as ObjectStore;

/** The stores, which say how many rows were worked off. */
class CountedCleanup extends CleanupStore {
  readonly #count: (rows: number) => void;

  constructor(database: Database, count: (rows: number) => void) {
    super(database);
    this.#count = count;
  }

  override async markSwept(jobIds: readonly string[]): Promise<void> {
    await super.markSwept(jobIds);
    this.#count(jobIds.length);
  }
}

class CountedRetention extends RetentionStore {
  readonly #count: (rows: number) => void;

  constructor(database: Database, count: (rows: number) => void) {
    super(database);
    this.#count = count;
  }

  override async markRevisionsDeleted(jobIds: readonly string[]): Promise<void> {
    await super.markRevisionsDeleted(jobIds);
    this.#count(jobIds.length);
  }

  override async deleteJobs(jobIds: readonly string[]): Promise<void> {
    await super.deleteJobs(jobIds);
    this.#count(jobIds.length);
  }
}

async function submissionsPerSecond(url: string): Promise<number> {
  const answer = await fetch(`${url}/rounds/${roundMs}`);
  const { perSecond } = (await answer.json()) as { readonly perSecond: number };
  return perSecond;
}
