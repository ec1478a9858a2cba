-- When a worker last found the object storage away: one row, so that the API can say why jobs wait.

create table storage_outage (
  is_only boolean primary key default true check (is_only),
  seen_at timestamptz not null
);
