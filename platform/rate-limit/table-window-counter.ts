import type { Database } from '../postgres/database.ts';
import { deleteText } from '../postgres/due-work.ts';
import type { WindowCounter } from './window-counter.ts';

// One statement: the row's lock serialises hits of one bucket. clock_timestamp(), since a hit may have waited for it.
const hit = `
  insert into key_values as entry (key, hits, expires_at)
  values ($1, 1, clock_timestamp() + $2 * interval '1 millisecond')
  on conflict (key) do update set
    hits = case when entry.expires_at <= clock_timestamp() then 1 else entry.hits + 1 end,
    expires_at = case when entry.expires_at <= clock_timestamp()
      then clock_timestamp() + $2 * interval '1 millisecond' else entry.expires_at end
  returning hits::int as count, extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as reset_ms`;

const pageSize = 1_000;
const clean = deleteText({ table: 'key_values', key: 'key', where: 'true', dueAt: 'expires_at' });

/** Expired rows only take space; each process deletes some of them this often, while it counts. */
const cleanEveryMs = 60_000;

/** Counts in a table of the database, where there is no Redis. `close` leaves the database open. */
export function openTableWindowCounter(database: Database): WindowCounter {
  const { pool } = database;
  let cleanedAt = Date.now();
  const deleteExpired = async () => {
    // Until a page is not full: a table that gets more rows than one page each time would grow for ever.
    while ((await pool.query(clean, [pageSize, 0, null])).rowCount === pageSize);
  };
  const cleanSometimes = () => {
    if (Date.now() - cleanedAt < cleanEveryMs) return;
    cleanedAt = Date.now();
    // Hits do not wait for it; what it misses is deleted next time.
    void deleteExpired().catch(() => {});
  };
  return {
    async hit(bucket, windowMs) {
      cleanSometimes();
      const { rows } = await pool.query<{ count: number; reset_ms: number }>(hit, [`hits:${bucket}`, windowMs]);
      const [row] = rows;
      if (row === undefined) throw new Error('an upsert returns its row');
      return { count: row.count, resetMs: Math.max(1, Math.ceil(row.reset_ms)) };
    },
    async ping() {
      await database.ping();
    },
    close: () => Promise.resolve(),
  };
}
