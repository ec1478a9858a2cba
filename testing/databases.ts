import { randomBytes } from 'node:crypto';
import { Client, type Pool } from 'pg';
import { inject } from 'vitest';

// A database for each test file, cloned from a template: about 50 ms, where migrating costs more.

export interface TestDatabase {
  /** `postgres://…/<name>` */
  url: string;
  /** Ends every connection to the database and drops it. */
  drop: () => Promise<void>;
}

/** A database with all migrations applied and no rows; needs `inject('postgres')` to be there. */
export function migratedDatabase(): Promise<TestDatabase> {
  const server = inject('postgres');
  if (!server) throw new Error('no PostgreSQL was started for this run');
  return createDatabase(server.url, server.migratedTemplate);
}

/** A database with nothing in it; needs `inject('postgres')` to be there. */
export function emptyDatabase(): Promise<TestDatabase> {
  const server = inject('postgres');
  if (!server) throw new Error('no PostgreSQL was started for this run');
  return createDatabase(server.url, 'template0');
}

/** Creates a database of a new name on the server as a copy of `template`. */
export async function createDatabase(serverUrl: string, template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runSql(serverUrl, `create database ${name} template ${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => runSql(serverUrl, `drop database if exists ${name} with (force)`) };
}

/**
 * Deletes the rows of tables and of those that refer to them, and of nothing else: no trigger runs. To truncate them
 * costs a file for each table and each index.
 */
export async function emptyTables(pool: Pick<Pool, 'query'>, tables: readonly string[]): Promise<void> {
  await pool.query(`do $$
    declare emptied regclass;
    begin
      perform set_config('session_replication_role', 'replica', true);
      for emptied in
        with recursive named as (
          select unnest('{${tables.join()}}'::regclass[]) as id
          union select conrelid from pg_constraint join named on confrelid = id where contype = 'f'
        ) select id from named
      loop
        execute format('delete from %s', emptied);
      end loop;
    end
  $$`);
}

async function runSql(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Connections of a test apart from a pool, such as those that hold a lock. */
export class OwnConnections {
  readonly #clients: Client[] = [];

  async open(url: string): Promise<Client> {
    const client = new Client({ connectionString: url });
    this.#clients.push(client);
    await client.connect();
    return client;
  }

  /** Ends all that were opened, with the transactions that they are in. */
  async close(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map((client) => client.end()));
  }
}
