-- What may share a runner, the oldest first (platform/postgres/batch-rows.ts): all that the query reads is in the index.

create index concurrently if not exists jobs_first_attempts on jobs (queue, type, created_at) include (id, not_before)
  where status = 'queued' and lease_owner is null and attempt = 1 and pool is null and priority = 0;
