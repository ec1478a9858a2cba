-- The jobs of an API key that have not ended, for its quotas (platform/postgres/quotas.ts).
create index concurrently if not exists jobs_unfinished_by_key on jobs (key_id)
  where key_id is not null and finished_at is null;
