import type { Pool, PoolClient } from 'pg';
import { externalWrite } from '../external-writes/external-write.ts';
import { openPool } from './pool.ts';

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
  ping(signal?: AbortSignal, access?: 'read' | 'write'): Promise<void>;
  /** Runs `work` in a transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
}

interface DatabaseOptions {
  /** The most connections of this process; 10 by default. */
  readonly maxConnections?: number;
  /** 10 s by default. */
  readonly statementTimeoutMs?: number;
  /** How long a caller waits for a connection; 5 s by default. */
  readonly connectionTimeoutMs?: number;
}

/**
 * Opens a pool; connects at the first query. A connection that breaks while it is idle, or between two queries of a
 * transaction, is replaced: only a query under way fails.
 *
 * @param url `postgres://…`
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const { maxConnections = 10, statementTimeoutMs = 10_000, connectionTimeoutMs = 5_000 } = options;
  const pool = openPool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectionTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // A process that freezes inside a transaction must not keep its locks. Publishing a stream takes seconds.
    idle_in_transaction_session_timeout: 60_000,
    // A server that hangs, or a network that swallows packets, must not hold a caller longer than a statement may take.
    query_timeout: statementTimeoutMs + 2_000,
    keepAlive: true,
    application_name: 'reelwright',
  });
  pool.query = interceptable(pool);
  let closing: Promise<void> | undefined;
  return {
    pool,
    close: () => (closing ??= pool.end()),
    ping: (signal, access) => ping(pool, signal, access),
    transaction: (work) => inTransaction(pool, work),
  };
}

/** Statements that change rows; a transaction is written as a whole, by its commit. */
const changes = /\b(insert into|delete from|update \w+( as \w+| \w+)?\s+set)\b/i;
const commit = () => ({ kind: 'sql', name: 'commit' }) as const;

/** The pool's `query`, of which statements that change rows pass through the one place of writes. */
function interceptable(pool: Pool): Pool['query'] {
  const query = pool.query.bind(pool) as (...parameters: unknown[]) => Promise<unknown>;
  const wrapped = (text: unknown, ...parameters: unknown[]) => {
    const name = typeof text === 'string' ? text : (text as { readonly text: string }).text;
    const send = () => query(text, ...parameters);
    return changes.test(name) ? externalWrite(() => ({ kind: 'sql', name }), send) : send();
  };
  return wrapped as unknown as Pool['query'];
}

/** A replica, and a server that was made read-only, answers and takes no write. */
const isReadOnly = `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as "isReadOnly"`;

async function ping(pool: Pool, signal: AbortSignal | undefined, access: 'read' | 'write' = 'read'): Promise<void> {
  signal?.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const connecting = pool.connect();
  let readOnly = false;
  try {
    const client = await Promise.race([connecting, aborted.promise]);
    try {
      const { rows } = await Promise.race([client.query<{ isReadOnly: boolean }>(isReadOnly), aborted.promise]);
      client.release();
      readOnly = rows[0]?.isReadOnly === true;
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
  if (readOnly && access === 'write') throw new Error('the database is read-only');
}

/** See `Database.transaction`. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await externalWrite(commit, () => client.query('commit'));
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
