-- Files on their way into the source bucket (domain/uploads/upload.ts has the states).

create table uploads (
  id uuid primary key,
  key_id text not null,
  name text not null,
  source text not null,
  size_bytes bigint not null,
  part_size_bytes bigint not null,
  content_type text,
  sha256 text,
  -- The store's name for the parts; null until it has given one.
  multipart_id text,
  status text not null default 'open' check (status in ('open', 'completing', 'completed', 'aborted', 'expired')),
  reason text,
  etag text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- When what an aborted or expired upload stored was removed.
  cleaned_up_at timestamptz
);

create index uploads_open_by_key on uploads (key_id) where status in ('open', 'completing');
create index uploads_to_expire on uploads (expires_at) where status in ('open', 'completing');
create index uploads_to_clean_up on uploads (ended_at) where status in ('aborted', 'expired') and cleaned_up_at is null;
create index uploads_ended on uploads (ended_at);
