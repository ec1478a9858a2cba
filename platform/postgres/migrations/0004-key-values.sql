-- The key-value store where there is no Redis: counters of limits and small caches. Unlogged: a crash of the server may
-- empty it, as a restart empties a Redis.

create unlogged table key_values (
  key        text primary key,
  value      text,
  hits       bigint,
  expires_at timestamptz not null
);

create index key_values_expired on key_values (expires_at);
