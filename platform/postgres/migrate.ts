import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from 'pg';
import type { Pool, PoolClient } from 'pg';
import { backoffMs, pause } from '../lifecycle/backoff.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type Database, inTransaction } from './database.ts';
import { openPool } from './pool.ts';

interface MigrateOptions {
  /** A folder of `.sql` files; by default the migrations of this program. */
  readonly dir?: string;
  readonly log?: Pick<Logger, 'info'>;
  /** Ends the wait for another process. */
  readonly signal?: AbortSignal;
}

const migrationsDir = join(import.meta.dirname, 'migrations');

/** The whole schema, in place of the migrations before it. */
const baseline = '0170-baseline.sql';
/** The last migration that the baseline stands for. */
const lastBefore = '0165-media-deletions-by-end.concurrent.sql';

/** Any number; every process of this system that migrates one database takes the same lock. */
const migrationLock = 7_342_001;
/** How often a process looks whether another one has finished its migration. */
const lockRetryMs = 500;

/**
 * How long a migration waits for the lock of a table. While it waits, every later query of that table waits behind it,
 * also one that only reads: behind a dump that would be an outage for as long as the dump lasts.
 */
const tableLockTimeoutMs = 1000;
/** Between two tries: the queries that waited behind the migration go on. */
const tableLockBackoff = { baseMs: 1000, maxMs: 15_000 };

/**
 * Applies the migrations that the database has not seen, in the order of their names, each in a transaction. A file
 * with `.concurrent` in its name is one `create index concurrently if not exists NAME`, outside of a transaction, so
 * that rows can be written while the index is built. One with `.batches` is one statement that commits by itself, locks
 * few rows at a time, and may run again after a crash. A crash may leave an invalid index, which the next call builds
 * again. Migrations of a newer version are left alone.
 *
 * A migration in a transaction waits at most a second for a table that others use, gives up what it has locked, and
 * tries again after a pause, for as long as it takes. The other two kinds take no lock that a query waits for.
 *
 * Processes that start at once wait for the first, which has an advisory lock. They poll for it: `create index
 * concurrently` waits for every earlier statement, so a statement that waits for the lock would deadlock with it. The
 * lock belongs to an idle transaction and not to a session, so that both pass through a pooler.
 *
 * Both connections are without timeouts: an index over millions of rows takes minutes.
 *
 * @throws the signal's reason when it aborts during the wait
 */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<void> {
  const { connectionString } = database.pool.options;
  const pool = openPool({ connectionString, max: 2, connectionTimeoutMillis: 5000, application_name: 'reelwright' });
  try {
    for (let tries = 0; !(await migrateUnderLock(pool, options)); tries++) {
      if (tries === 0) options.log?.info({}, 'another process migrates the database, waiting');
      await pause(lockRetryMs, options.signal ?? new AbortController().signal);
      options.signal?.throwIfAborted();
    }
  } finally {
    await pool.end();
  }
}

/** Whether this process held the lock; then every migration is applied. */
function migrateUnderLock(pool: Pool, options: MigrateOptions): Promise<boolean> {
  return inTransaction(pool, async (lockHolder) => {
    // The role or the database may have timeouts of its own.
    await lockHolder.query('set local idle_in_transaction_session_timeout = 0');
    // Without parameters: the portal of a query with parameters keeps its snapshot, for whose end an index would wait.
    const ask = `select pg_try_advisory_xact_lock(${migrationLock}) as is_held`;
    const { rows } = await lockHolder.query<{ is_held: boolean }>(ask);
    if (rows[0]?.is_held !== true) return false;
    const client = await pool.connect();
    try {
      await client.query('set statement_timeout = 0; set lock_timeout = 0');
      await applyAll(client, options);
    } finally {
      // With its setting and whatever a failed migration left open.
      client.release(true);
    }
    return true;
  });
}

/** How a database differs from what this program migrates it to. */
export interface MigrationState {
  /** Migrations of this program that are not applied. */
  readonly missing: readonly string[];
  /** Applied by a newer program. */
  readonly unknown: readonly string[];
}

/** Compares without changing anything; before the first migration, all are missing. */
export async function migrationState(database: Database): Promise<MigrationState> {
  const { rows: found } = await database.pool.query<{ is_there: boolean }>(
    `select to_regclass('schema_migrations') is not null as is_there`,
  );
  const { rows } =
    found[0]?.is_there === true
      ? await database.pool.query<{ name: string }>('select name from schema_migrations')
      : { rows: [] };
  const applied = new Set(rows.map(({ name }) => name));
  const files = await migrationFiles(migrationsDir);
  return {
    missing: files.filter((file) => !applied.has(file)),
    unknown: [...applied].filter((name) => !files.includes(name) && name > baseline).toSorted(),
  };
}

async function migrationFiles(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => name.endsWith('.sql')).toSorted();
}

async function applyAll(client: PoolClient, options: MigrateOptions): Promise<void> {
  const { dir = migrationsDir } = options;
  await client.query(
    'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
  );
  const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
  const applied = new Set(rows.map(({ name }) => name));
  const files = await migrationFiles(dir);
  if (files.includes(baseline)) await takeBaseline(client, applied);
  for (const name of files.filter((file) => !applied.has(file))) {
    const sql = await readFile(join(dir, name), 'utf8');
    const isConcurrent = name.endsWith('.concurrent.sql');
    const isTransaction = !isConcurrent && !name.endsWith('.batches.sql');
    if (isConcurrent) await dropInvalidIndex(client, sql);
    if (isTransaction) {
      await applyInTransaction(client, { name, sql }, options);
    } else {
      await client.query(sql);
      await client.query(recordApplied, [name]);
    }
  }
}

/**
 * A database that has every migration before the baseline has what the baseline makes.
 *
 * @throws Error for a database in the middle of those migrations
 */
async function takeBaseline(client: PoolClient, applied: Set<string>): Promise<void> {
  if (applied.size === 0 || applied.has(baseline)) return;
  if (!applied.has(lastBefore))
    throw new Error(
      'the database is older than this program can migrate: first start the commit before ' +
        '"Make one baseline of the migrations" with it',
    );
  await client.query(recordApplied, [baseline]);
  applied.add(baseline);
}

const recordApplied = 'insert into schema_migrations (name) values ($1)';

/** Tries until each lock of the migration is had within its time; an abort of the signal ends the tries. */
async function applyInTransaction(
  client: PoolClient,
  { name, sql }: { readonly name: string; readonly sql: string },
  { log, signal = new AbortController().signal }: MigrateOptions,
): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      await client.query(`begin; set local lock_timeout = ${tableLockTimeoutMs}; ${sql}`);
      await client.query(recordApplied, [name]);
      await client.query('commit');
      return;
    } catch (error) {
      if (!isTableInUse(error)) throw error;
      await client.query('rollback');
      const delayMs = Math.round(backoffMs(failures, tableLockBackoff));
      log?.info({ migration: name, retry_in_ms: delayMs }, 'a migration waits for a table in use');
      await pause(delayMs, signal);
      signal.throwIfAborted();
    }
  }
}

/** A lock that was not had in time, or a deadlock with a query of an earlier version. */
function isTableInUse(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01');
}

/** Drops what is left of an index whose building ended in the middle: it costs writes and serves no query. */
async function dropInvalidIndex(client: PoolClient, sql: string): Promise<void> {
  const [, name] = /create (?:unique )?index concurrently if not exists (\w+)/.exec(sql) ?? [];
  if (name === undefined) throw new TypeError('expected one statement "create index concurrently if not exists NAME"');
  const find =
    'select indrelid::regclass::text as on from pg_index where indexrelid = to_regclass($1) and not indisvalid';
  const { rows } = await client.query<{ on: string }>(find, [name]);
  if (rows[0] === undefined) return;
  // The server may still be building it for a process that died: its lock on the table comes first.
  await client.query(`begin; lock table ${rows[0].on} in share update exclusive mode; commit`);
  if ((await client.query(find, [name])).rowCount === 1) await client.query(`drop index concurrently ${name}`);
}
