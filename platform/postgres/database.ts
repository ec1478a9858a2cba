import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool, type PoolClient } from 'pg';

/** A pool of connections to PostgreSQL, and what the stores need of it. */
export interface Database {
  readonly pool: Pool;
  /** Ends every connection, once the queries under way are answered. Calling it again changes nothing. */
  close(): Promise<void>;
  /**
   * Resolves when the server answers a query.
   *
   * @throws Error when it does not, or `signal` aborts first; the connection that hung is given up
   */
  ping(signal?: AbortSignal): Promise<void>;
  /** Runs `work` in a transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
}

const migrationsDir = join(import.meta.dirname, 'migrations');

/** Any number; every process of this system that migrates one database takes the same lock. */
const migrationLock = 7_342_001;

/**
 * Opens a pool; connects at the first query. A connection that breaks while it is idle, or between two queries of a
 * transaction, is replaced: only a query under way fails.
 *
 * @param url `postgres://…`
 * @param options `maxConnections` of this process, 10 by default
 */
export function openDatabase(url: string, options: { readonly maxConnections?: number } = {}): Database {
  const pool = new Pool({
    connectionString: url,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 5000,
    statement_timeout: 10_000,
    // A server that hangs, or a network that swallows packets, must not hold a caller longer than a statement may take.
    query_timeout: 12_000,
    keepAlive: true,
    application_name: 'reelwright',
  });
  // Both are needed: the pool's for idle clients, the client's own for one that breaks while a transaction thinks.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  let closing: Promise<void> | undefined;
  return {
    pool,
    close: () => (closing ??= pool.end()),
    ping: (signal) => ping(pool, signal),
    transaction: (work) => transaction(pool, work),
  };
}

async function ping(pool: Pool, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const connecting = pool.connect();
  try {
    const client = await Promise.race([connecting, aborted.promise]);
    try {
      await Promise.race([client.query('select 1'), aborted.promise]);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  } catch (error) {
    // When the abort came before the connection, the connection goes back to the pool whenever it comes.
    if (signal?.aborted === true) void connecting.then((client) => client.release()).catch(() => {});
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    try {
      await client.query('rollback');
      client.release();
    } catch {
      // The connection is lost, and the transaction with it.
      client.release(true);
    }
    throw error;
  }
}

/**
 * Applies the migrations that the database has not seen, in the order of their names, all in one transaction and under
 * an advisory lock: processes that start at once wait for the first, and a crash leaves the database as it was.
 * Migrations of a newer version that are there already are left alone.
 *
 * It has a connection of its own without timeouts: an index over millions of rows takes minutes, and so does waiting for
 * another process that builds it.
 */
export async function migrate(database: Database, dir = migrationsDir): Promise<void> {
  const files = (await readdir(dir)).filter((name) => name.endsWith('.sql')).toSorted();
  const { connectionString } = database.pool.options;
  const pool = new Pool({ connectionString, max: 1, connectionTimeoutMillis: 5000, application_name: 'reelwright' });
  pool.on('error', () => {});
  try {
    await transaction(pool, async (client) => {
      client.on('error', () => {});
      // The role or the database may have a timeout of its own.
      await client.query('set local statement_timeout = 0');
      await client.query('select pg_advisory_xact_lock($1)', [migrationLock]);
      await client.query(
        'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
      );
      const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
      const applied = new Set(rows.map(({ name }) => name));
      for (const name of files.filter((file) => !applied.has(file))) {
        await client.query(await readFile(join(dir, name), 'utf8'));
        await client.query('insert into schema_migrations (name) values ($1)', [name]);
      }
    });
  } finally {
    await pool.end();
  }
}
