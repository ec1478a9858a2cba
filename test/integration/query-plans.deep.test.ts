import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { searchQuery } from '#domain/media/description.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { listMedia, type MediaFilter } from '#platform/postgres/media-list.ts';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { fillTables } from '../../testing/many-rows.ts';
import { repeatedQueries } from '../../testing/repeated-queries.ts';
import { statementPatterns } from '../../testing/sql-statements.ts';

// Every statement of platform/postgres, and every filter of lists, over tables where one hash, one host and one backlog
// are far larger than all others: each reads rows by an index, and no more rows than its bound, however many there are.
// The planner decides by shares: of a backlog that is a small share of all jobs, as of millions, it expects few rows.

const sizes = { jobs: 200_000, ofOneHash: 20_000, events: 100_000, ofOneHost: 50_000, attempts: 120_000 };
const backlogs = [{ unfinished: 20_000 }, { unfinished: 1_000 }];

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const tables = new Set(['jobs', 'webhook_events', 'webhook_attempts', 'usage_daily', 'usage_summed']);

/** The files whose statements run once, when a process starts or is asked whether it is ready. */
const ofTheStart = new Set(['migrate.ts', 'prepare-database.ts', 'database.ts']);

/** The rows that the scans of a plan looked at. */
function examined(plan: Plan): number {
  const scans = nodesOf(plan).filter(
    (node) => node['Node Type'].includes('Scan') && tables.has(node['Relation Name'] ?? ''),
  );
  const sums = scans.map(
    (node) =>
      (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops'],
  );
  return sums.reduce((sum, one) => sum + one, 0);
}

const withPostgres = describe.skipIf(!inject('postgres'));

withPostgres.each(backlogs)('plans of queries, $unfinished jobs unfinished', { timeout: 300_000 }, (backlog) => {
  const rows = { ...sizes, ...backlog };
  let created: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    created = await migratedDatabase();
    database = openDatabase(created.url, { statementTimeoutMs: 250_000 });
    // The server's own vacuum, which leaves tables as the one below does, must not come in between.
    for (const table of tables) await database.pool.query(`alter table ${table} set (autovacuum_enabled = false)`);
    await fillTables(database.pool, rows);
    await until(vacuum, (isVisible) => isVisible);
  }, 300_000);
  afterAll(async () => {
    await database.close();
    await created.drop();
  });

  /** One that comes while a snapshot is held somewhere marks no page. */
  async function vacuum(): Promise<boolean> {
    await database.pool.query(
      'vacuum (analyze) jobs, webhook_events, webhook_attempts, rollout_items, usage_daily, usage_summed',
    );
    const marked = `select bool_and(relallvisible > 0) as are from pg_class where relname in ('jobs', 'webhook_events')`;
    const { rows: found } = await database.pool.query<{ are: boolean }>(marked);
    return found[0]?.are === true;
  }

  /** The texts of all statements that were planned. */
  const planned: string[] = [];

  /** The plans of the statements that `call` makes, which are rolled back: each sees the tables as they were. */
  async function plansOf(call: (explaining: Database) => Promise<unknown>): Promise<Plan[]> {
    const plans: Plan[] = [];
    const rolledBack = async <Row extends object>(text: string, values: unknown[]) => {
      const client = await database.pool.connect();
      try {
        await client.query('begin');
        return await client.query<Row>(text, values);
      } finally {
        await client.query('rollback');
        client.release();
      }
    };
    const query = async (text: string, values: unknown[] = []) => {
      // These have no plan, and each statement has a transaction of its own here.
      if (/^(savepoint|lock table)/.test(text)) return { rows: [] };
      const explained = await rolledBack<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `explain (analyze, buffers, format json) ${text}`,
        values,
      );
      planned.push(text);
      plans.push(explained.rows[0]?.['QUERY PLAN'][0]?.Plan as Plan);
      return rolledBack(text, values);
    };
    const { options } = database.pool;
    const transaction = ((work) => work({ query } as unknown as PoolClient)) as Database['transaction'];
    await call({ ...database, pool: { query, options } as unknown as Database['pool'], transaction });
    return plans;
  }

  it.each(repeatedQueries(rows))('%s: an index is read, and at most %d rows', async (_, examinedMax, call) => {
    const plans = await plansOf(call);
    expect(plans.length).toBeGreaterThan(0);
    for (const plan of plans) {
      const scanned = nodesOf(plan).filter(
        (node) => node['Node Type'] === 'Seq Scan' && tables.has(node['Relation Name'] ?? ''),
      );
      expect(scanned, 'tables that are read from end to end').toEqual([]);
      expect(examined(plan)).toBeLessThanOrEqual(examinedMax);
    }
  });

  it('every statement of platform/postgres is among them', async () => {
    const folder = join(import.meta.dirname, '../../platform/postgres');
    const files = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !ofTheStart.has(name));
    const unplanned: string[] = [];
    for (const name of files) {
      const patterns = statementPatterns(await readFile(join(folder, name), 'utf8'));
      const missing = patterns.filter((pattern) => !planned.some((text) => pattern.test(text)));
      unplanned.push(...missing.map(({ source }) => `${name}: ${source}`));
    }
    expect(unplanned).toEqual([]);
  });
});

withPostgres('the plan of a search of titles and metadata', { timeout: 300_000 }, () => {
  const media = 200_000;
  let created: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    created = await migratedDatabase();
    database = openDatabase(created.url, { statementTimeoutMs: 250_000 });
    await database.pool.query(fillMedia, [media]);
    await database.pool.query(fillDescriptions);
    await database.pool.query('vacuum (analyze) media, descriptions');
  }, 300_000);
  afterAll(async () => {
    await database.close();
    await created.drop();
  });

  const planOf = async (filter: MediaFilter, after: string | null) => {
    const plans: Plan[] = [];
    const query = async (text: string, values: unknown[]) => {
      const { rows } = await database.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `explain (analyze, format json) ${text}`,
        values,
      );
      plans.push(rows[0]?.['QUERY PLAN'][0]?.Plan as Plan);
      return database.pool.query(text, values);
    };
    const found = await listMedia({ pool: { query } } as unknown as Database, filter, {
      after: after === null ? null : { value: '', hash: after },
      limit: 51,
    });
    return { plan: plans[0] as Plan, found: found.length };
  };

  it.each([
    ['a word of every title', 'film', null, 51],
    ['a word of every title, in the middle', 'film', 'm-100', 51],
    ['a word of one title in a hundred', 'hundred', null, 51],
    ['a word of twenty titles', 'rare7x', null, 20],
    ['the begin of many words', 'rar', null, 51],
    ['a common word and a rare one', 'film rare7x', null, 20],
    ['a word of no title', 'absent', null, 0],
    ['the begin of a hash', 'm-12', null, 51],
  ])('C38.9: %s: an index is read, and few rows', async (_, q, after, count) => {
    const { plan, found } = await planOf({ by: 'search', words: searchQuery(q), prefix: q }, after);
    expect(found).toBe(count);
    expectFewRows(plan);
  });

  it.each([
    ['a string of every media', { all: 'yes' }, '', null, 51],
    ['a string of every media, in the middle', { all: 'yes' }, '', 'm-100', 51],
    ['a string of one media in a hundred', { hundred: '0' }, '', null, 51],
    ['a string of twenty media', { rare: '7' }, '', null, 20],
    ['a common string and a rare one', { all: 'yes', rare: '7' }, '', null, 20],
    ['a string of no media', { rare: 'absent' }, '', null, 0],
    ['a string of every media below a prefix', { all: 'yes' }, 'm-12', null, 51],
  ])('C38.22: %s: an index is read, and few rows', async (_, metadata, prefix, after, count) => {
    const { plan, found } = await planOf({ by: 'metadata', metadata, prefix }, after);
    expect(found).toBe(count);
    expectFewRows(plan);
  });
});

const fillMedia = `insert into media (hash) select 'm-' || n from generate_series(1, $1::int) as n`;
// Each title has "film" and a word that twenty titles have, one in a hundred has "hundred".
const fillDescriptions = `
  insert into descriptions (hash, title, metadata, words, said_at)
  select hash, 'x', json_build_object('all', 'yes', 'rare', (n % 10000)::text, 'hundred', (n % 100)::text), array_to_tsvector(
    array['film', 'rare' || n % 10000 || 'x'] || case when n % 100 = 0 then array['hundred'] else array[]::text[] end), now()
  from (select hash, substring(hash from 3)::int as n from media) as numbered`;

function expectFewRows(plan: Plan): void {
  const scans = nodesOf(plan).filter((node) => node['Node Type'].includes('Scan'));
  expect(scans.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'])).not.toContain(
    'media',
  );
  const read = scans.map(
    (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
  );
  expect(read.reduce((sum, one) => sum + one, 0)).toBeLessThan(12_000);
}
