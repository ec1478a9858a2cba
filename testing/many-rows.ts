import type { Pool } from 'pg';

// Tables as a busy installation has them after years: mostly finished jobs, and one hash, one host and one backlog that
// are far larger than all others.

export interface ManyRows {
  /** All jobs. */
  readonly jobs: number;
  /** Jobs among them of the hash `busy`, each with a stream that a later one replaced. */
  readonly ofOneHash: number;
  /** The unfinished ones of them: waiting images and videos, and claimed jobs. */
  readonly unfinished: number;
  /** Webhook events: of the latest jobs, delivered except to one host. */
  readonly events: number;
  /** The due events of the host `hanging.example` among them. */
  readonly ofOneHost: number;
  /** Attempts of these events, from the first event on. */
  readonly attempts: number;
}

/** How many of a thousand finished jobs are due for cleanup, or have just ended. */
const [dueOfThousand, recentOfThousand] = [60, 5];
/** The number of rows in one insert. */
const pieceSize = 250_000;
/** Statements at once. */
const lanes = 2;

/** A hash without a job, whose deletion has listed its objects. */
export const deletedHash = 'deleted';

/** Hashes with a content key that was made after their deletions were asked for: one runs, the other has ended. */
export const uncoveredHashes = ['uncovered-running', 'uncovered-ended'] as const;

/** A rollout with a canary, and one without. */
export const rolloutIds = ['00000000-0000-4000-9000-000000000001', '00000000-0000-4000-9000-000000000002'] as const;

/** Fills empty tables; `hash` is `busy` or `h<n>`, ids are of `idOfRow`. Indexes are built after the rows are there. */
export async function fillTables(pool: Pick<Pool, 'query'>, rows: ManyRows): Promise<void> {
  for (const table of filled) await pool.query(`alter table ${table} disable trigger all`);
  await pool.query(insertKeys, [usageKeys]);
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(rebuildable);
  for (const { name } of indexes) await pool.query(`drop index ${name}`);
  const { jobs, ofOneHash, unfinished, events, ofOneHost, attempts } = rows;
  await inLanes([
    ...piecesOf(jobs).map((piece) => () => pool.query(insertJobs, [...piece, ofOneHash, unfinished, jobs])),
    ...piecesOf(events).map((piece) => () => pool.query(insertEvents, [...piece, ofOneHost, jobs, unfinished])),
    ...piecesOf(attempts).map((piece) => () => pool.query(insertAttempts, [...piece, events])),
  ]);
  await inLanes(
    indexes.map(
      ({ definition }) =>
        () =>
          pool.query(definition),
    ),
  );
  for (const table of filled) await pool.query(`alter table ${table} enable trigger all`);
  await pool.query(
    `insert into media_deletions (id, hash, reason, objects, bytes, objects_sha256)
     values ($1, $2, 'request', 1, 1, 'x')`,
    [idOfRow(5), deletedHash],
  );
  await pool.query(
    `insert into media_deletions (id, hash, reason, finished_at)
     values (gen_random_uuid(), $1, 'request', null), (gen_random_uuid(), $2, 'request', now())`,
    [...uncoveredHashes],
  );
  await pool.query(
    `insert into content_keys (hash, kid, envelope) select hash, hash, '{}' from unnest($1::text[]) as hash`,
    [uncoveredHashes],
  );
  await fillRollouts(pool);
  await pool.query('alter table usage_daily disable trigger all');
  await pool.query(insertUsage, [usageDays, usageKeys, usageTypes]);
  await pool.query(sumUsage);
  await pool.query('alter table usage_daily enable trigger all');
  await pool.query(`vacuum (analyze) ${filled.join()}, api_keys, usage_daily, usage_summed`);
}

/** The tables with rows by the million: they are filled without triggers. */
const filled = ['jobs', 'webhook_events', 'webhook_attempts'] as const;

/** Days, API keys and types with usage: a row of each. All jobs are of these keys. */
export const usageDays = 1098;
export const usageKeys = 100;
export const usageTypes = ['image:thumbnail', 'video:transcode', 'video:cover'] as const;
const insertUsage = `
  insert into usage_daily
  select current_date - day, lpad(to_hex(key), 8, '0'), type, '', '', 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
  from generate_series(0, $1::int - 1) as day cross join generate_series(1, $2::int) as key
    cross join unnest($3::text[]) as type`;
const sumUsage = `
  insert into usage_summed
  select 'month', day, key_id, type, '', '', 0, n, n, n, n, n, n, n, n, n, n, n, n
  from (
    select date_trunc('month', day)::date as day, key_id, type, count(*) as n from usage_daily group by 1, 2, 3
  ) as months
  union all
  select 'day', day, '', type, '', '', 0, n, n, n, n, n, n, n, n, n, n, n, n
  from (select day, type, count(*) as n from usage_daily group by 1, 2) as days`;
const insertKeys = `
  insert into api_keys (id, name, sha256, rights)
  select lpad(to_hex(key), 8, '0'), 'key ' || key, int4send(key), '{submit,read}'
  from generate_series(1, $1::int) as key`;

/** Two rollouts over 1000 of 1500 media: items have each status in turn. */
async function fillRollouts(pool: Pick<Pool, 'query'>): Promise<void> {
  await pool.query(`insert into media (hash) select 'h' || n from generate_series(20100, 21599) as n`);
  const statuses = ['canary', 'running'];
  for (const [index, id] of rolloutIds.entries()) {
    const spec = { which: {}, to_profile: 'x', budget: { jobs: 1000 }, canary: { share: 0.5 } };
    await pool.query(insertRollout, [id, spec, statuses[index]]);
    await pool.query('insert into rollout_counts (rollout_id, is_canary) values ($1, true), ($1, false)', [id]);
    await pool.query(insertItems, [id]);
  }
}

async function inLanes(statements: readonly (() => Promise<unknown>)[]): Promise<void> {
  const pending = statements.values();
  const runRest = async () => {
    for (const run of pending) await run();
  };
  await Promise.all(Array.from({ length: lanes }, runRest));
}

/** First and last number of each piece of `count` rows. */
function piecesOf(count: number): [number, number][] {
  return Array.from({ length: Math.ceil(count / pieceSize) }, (_, piece) => [
    piece * pieceSize,
    Math.min((piece + 1) * pieceSize, count) - 1,
  ]);
}

const rebuildable = `
  select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
  where indrelid in (${filled.map((table) => `'${table}'::regclass`).join()})
    and not exists (select from pg_constraint where conindid = indexrelid)`;

const insertRollout = `
  insert into rollouts (id, spec, status, profile) values ($1, $2, $3, '{"name": "x"}')`;
const insertItems = `
  insert into rollout_items (rollout_id, hash, is_canary, status, earlier_job_id, earlier_rev, job_id, is_submitted)
  select $1, 'h' || n, n % 8 < 4, ('{planned,running,done,failed}'::text[])[1 + n % 4], jobs.id, '0000000000000000',
    jobs.id, n % 8 < 6
  from generate_series(20600, 21599) as n join jobs on jobs.hash = 'h' || n`;

/** The id of row `n`, in SQL. */
const idOf = (n: string) => `('00000000-0000-4000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
/** The id of row `n`. */
export const idOfRow = (n: number) => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

// Rows 0 … $3 are of one hash, the last $4 are unfinished. A row is a second younger than the one before. Ten rows in
// turn are of each API key.
const insertJobs = `
  with given as (
    select n, n < $3::int as is_busy, n >= $5::int - $4::int as is_unfinished,
      now() - interval '1 second' * ($5::int - n) - interval '2 days' as made_at, n % 1000 as per_mille
    from generate_series($1::int, $2::int) as n
  ), typed as (
    select *, case when is_busy then 'video:transcode' when n % 5 = 0 then 'video:transcode'
        when n % 50 = 1 then 'video:full' when n % 50 = 2 then 'video:cover' else 'image:thumbnail' end as job_type,
      lpad(to_hex(n), 16, '0') as rev
    from given
  ), streamed as (
    select *, not is_unfinished and job_type in ('video:transcode', 'video:full') and per_mille <> 7 as has_stream
    from typed
  )
  insert into jobs (id, type, hash, source, options, idempotency_key, queue, status, lease_owner, lease_expires_at,
    ticketed_at, results, stream_rev, replaced_at, revision_deleted_at, callback_url,
    created_at, finished_at, swept_at, source_etag, error, key_id)
  select ${idOf('n')}, job_type, case when is_busy then 'busy' else 'h' || n end, 'uploads/' || n, '{}', 'key ' || n,
    'default',
    case when is_unfinished then case when n % 10 = 0 then 'processing' else 'queued' end
      when per_mille = 7 then 'failed' else 'completed' end,
    case when is_unfinished and n % 10 = 0 then 'worker-' || n % 7 end,
    case when is_unfinished and n % 10 = 0 then now() + interval '1 minute' end,
    made_at,
    case when has_stream then json_build_object('streaming', 1, 'init', 'videos/ab/h/' || rev || '/video/init.mp4') end,
    case when has_stream then rev end,
    case when is_busy then made_at + interval '1 minute' end,
    case when is_busy and n % 2 = 0 then made_at + interval '1 day' end,
    case when is_unfinished then 'https://h1.example/' end,
    made_at,
    case when is_unfinished then null
      when per_mille < ${recentOfThousand} and n % 2 = 0 then now() - interval '1 minute' else made_at end,
    case when is_unfinished or per_mille < ${dueOfThousand} then null else made_at + interval '1 hour' end,
    '"' || n || '"', case when not is_unfinished and per_mille = 7 then '{"code": "storage_error"}'::json end,
    lpad(to_hex(1 + n / 10 % ${usageKeys}), 8, '0')
  from streamed`;

// Each event is of a finished job, from the latest one back.
const insertEvents = `
  insert into webhook_events (id, job_id, url, host, body, next_attempt_at, created_at, failed_at)
  select ${idOf('n')}, ${idOf('$4::int - $5::int - 1 - n')},
    case when n < $3::int then 'https://hanging.example/' || n else 'https://h' || n % 5000 || '.example/' end,
    case when n < $3::int then 'hanging.example' when n % 100 = 0 then 'h' || n % 5000 || '.example' end, '{}',
    case when n < $3::int then now() - interval '1 hour' + n * interval '1 millisecond'
      when n % 100 = 0 then now() + (n % 600) * interval '1 second' end,
    now() - interval '2 days', case when n % 50 = 1 and n >= $3::int then now() - n * interval '1 second' end
  from generate_series($1::int, $2::int) as n`;

// One or more of each event.
const insertAttempts = `
  insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code)
  select ${idOf('n % $3::int')}, 1 + n / $3::int, now() - interval '2 days', 20, 500
  from generate_series($1::int, $2::int) as n`;
