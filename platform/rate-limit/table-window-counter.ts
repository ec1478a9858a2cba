import type { Database } from '../postgres/database.ts';
import type { WindowCounter } from './window-counter.ts';

// One statement: the row's lock puts equal hits in a line. clock_timestamp, since a hit may have waited in it.
const hit = `
  insert into key_values as entry (key, hits, expires_at)
  values ($1, 1, clock_timestamp() + $2 * interval '1 millisecond')
  on conflict (key) do update set
    hits = case when entry.expires_at <= clock_timestamp() then 1 else entry.hits + 1 end,
    expires_at = case when entry.expires_at <= clock_timestamp()
      then clock_timestamp() + $2 * interval '1 millisecond' else entry.expires_at end
  returning hits::int as count, extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as reset_ms`;

const get = 'select value from key_values where key = $1 and expires_at > now()';

const set = `
  insert into key_values (key, value, expires_at) values ($1, $2, now() + $3 * interval '1 millisecond')
  on conflict (key) do update set value = excluded.value, expires_at = excluded.expires_at`;

const clean = `
  delete from key_values where key in (
    select key from key_values where expires_at < now() limit 1000 for update skip locked
  )`;

/** Expired rows are no harm but for the space they take; each process removes some of them this often, while it writes. */
const cleanEveryMs = 60_000;

/** The key-value store on a table of the database, for where there is no Redis. `close` leaves the database open. */
export function openTableWindowCounter(database: Database): WindowCounter {
  const { pool } = database;
  let cleanedAt = Date.now();
  const cleanNowAndThen = () => {
    if (Date.now() - cleanedAt < cleanEveryMs) return;
    cleanedAt = Date.now();
    // Nobody waits for it, and what it misses is for the next time.
    pool.query(clean).catch(() => {});
  };
  return {
    async hit(bucket, windowMs) {
      cleanNowAndThen();
      const { rows } = await pool.query<{ count: number; reset_ms: number }>(hit, [`hits:${bucket}`, windowMs]);
      const [row] = rows;
      if (row === undefined) throw new Error('an upsert returns its row');
      return { count: row.count, resetMs: Math.max(1, Math.ceil(row.reset_ms)) };
    },
    async get(key) {
      const { rows } = await pool.query<{ value: string }>(get, [`value:${key}`]);
      return rows[0]?.value ?? null;
    },
    async set(key, value, ttlMs) {
      cleanNowAndThen();
      await pool.query(set, [`value:${key}`, value, ttlMs]);
    },
    async ping() {
      await database.ping();
    },
    close: () => Promise.resolve(),
  };
}
