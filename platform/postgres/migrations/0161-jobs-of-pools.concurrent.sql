-- The waiting jobs that were given a pool, for the numbers of each pool.

create index concurrently if not exists jobs_of_pools on jobs (pool, created_at)
  where pool is not null and lease_owner is null and status in ('queued', 'processing');
