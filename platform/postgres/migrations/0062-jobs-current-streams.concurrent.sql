-- The stream of a hash that no later one has replaced: one row for each hash.

create index concurrently if not exists jobs_current_streams on jobs (hash)
  where stream_rev is not null and replaced_at is null;
