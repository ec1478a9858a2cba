-- Which jobs name one revision (platform/postgres/deletion-fence.ts).

create index concurrently if not exists jobs_stream_revs on jobs (hash, stream_rev, replaced_at)
  where stream_rev is not null;
