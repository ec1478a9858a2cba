-- Cleanup: final jobs that were not cleaned up.

create index concurrently if not exists jobs_to_clean_up on jobs (coalesce(cleanup_after, finished_at))
  where swept_at is null and finished_at is not null;
