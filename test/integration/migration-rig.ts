import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#platform/postgres/database.ts';

// What others do with a database while it is migrated.

/** The tables of the service, without the record of its migrations. */
export async function tablesOf(database: Database): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations'`,
  );
  return rows.map(({ name }) => name);
}

/** Reads every table in one open transaction, as a dump does, until the returned function is called. */
export async function readEveryTable(database: Database): Promise<() => Promise<void>> {
  const client = await database.pool.connect();
  await client.query('begin');
  for (const table of await tablesOf(database)) await client.query(`lock table ${table} in access share mode`);
  return async () => {
    await client.query('commit');
    client.release();
  };
}

/** Asks each table again and again, as the pods of the earlier version do; the result ends that, with the waits. */
export async function queryEveryTable(database: Database): Promise<() => Promise<Map<string, number>>> {
  const waits = new Map((await tablesOf(database)).map((table) => [table, 0]));
  const ended = new AbortController();
  const query = async (table: string) => {
    while (!ended.signal.aborted) {
      const begunAt = performance.now();
      await database.pool.query(`select 1 from ${table} limit 1`);
      waits.set(table, Math.max(waits.get(table) ?? 0, performance.now() - begunAt));
      await sleep(20);
    }
  };
  const all = [...waits.keys()].map(query);
  return async () => {
    ended.abort();
    await Promise.all(all);
    return waits;
  };
}
