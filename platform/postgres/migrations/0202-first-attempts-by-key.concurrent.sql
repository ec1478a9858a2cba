-- What may share a runner, by API key, the oldest first (platform/postgres/batch-rows.ts): all that the query reads is
-- in the index.

create index concurrently if not exists jobs_first_attempts_by_key
  on jobs (queue, (coalesce(key_id, '')), type, created_at) include (id, not_before)
  where status = 'queued' and lease_owner is null and attempt = 1 and pool is null and priority = 0;
