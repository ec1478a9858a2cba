-- How many jobs are ahead of one that waits (platform/postgres/job-waiting.ts).

create index concurrently if not exists jobs_backlog on jobs (queue, created_at)
  where status in ('queued', 'processing') and lease_owner is null;
