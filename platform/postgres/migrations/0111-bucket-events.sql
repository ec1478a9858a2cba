-- Versions of objects for which an event of the bucket was submitted. `id`: SHA-256 of bucket, key and version.

create table bucket_events (
  id bytea primary key,
  job_id uuid not null,
  seen_at timestamptz not null default now()
);

create index bucket_events_by_age on bucket_events (seen_at);
