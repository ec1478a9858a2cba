-- Which jobs of a hash have not ended, or have just ended (platform/postgres/deletion-fence.ts).

create index concurrently if not exists jobs_unswept_by_hash on jobs (hash, finished_at) where swept_at is null;
