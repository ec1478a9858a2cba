-- Files that a worker fetches into the bucket of uploads (domain/imports/import.ts has the states).

create table imports (
  id uuid primary key,
  key_id text not null,
  url text not null,
  name text not null,
  source text not null,
  sha256 text,
  status text not null default 'queued'
    check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
  stored_bytes bigint not null default 0,
  -- The most that any attempt stored: one that gets no further counts as a failure.
  stored_bytes_max bigint not null default 0,
  size_bytes bigint,
  part_size_bytes bigint not null,
  content_type text,
  -- The ETag or the Last-Modified of the file that the stored bytes are of.
  validator text,
  multipart_id text,
  etag text,
  error_code text,
  http_status int,
  failures int not null default 0,
  -- One for each attempt; null between two.
  lease_owner uuid,
  -- The end of the lease, or the time of the next attempt.
  due_at timestamptz not null default now(),
  -- In milliseconds, as cursors of the list have it.
  created_at timestamptz(3) not null default now(),
  deadline_at timestamptz not null,
  ended_at timestamptz,
  -- When what a failed or cancelled import stored was removed.
  cleaned_up_at timestamptz
);

create index imports_due on imports (due_at) where status in ('queued', 'running');
create index imports_open_by_key on imports (key_id) where status in ('queued', 'running');
create index imports_to_clean_up on imports (due_at) where status in ('failed', 'cancelled') and cleaned_up_at is null;
create index imports_ended on imports (ended_at);
create index imports_newest on imports (created_at, id);
