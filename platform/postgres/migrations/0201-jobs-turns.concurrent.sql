-- The first waiting job of each API key in a pool (platform/postgres/turn-rows.ts).

create index concurrently if not exists jobs_turns
  on jobs ((coalesce(pool, replace(queue, ':', '-'))), (coalesce(key_id, '')), priority desc, created_at)
  where status in ('queued', 'processing') and lease_owner is null;
