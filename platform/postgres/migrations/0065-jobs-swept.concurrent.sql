-- Retention: old jobs whose working objects are gone.

create index concurrently if not exists jobs_swept on jobs (coalesce(retention_after, finished_at))
  where swept_at is not null;
