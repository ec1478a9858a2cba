-- Browser sessions of API keys (domain/keys/session.ts). A row goes when the session ends, or with its key.

create table key_sessions (
  sha256       bytea primary key,
  key_id       text not null,
  -- Null for a session of API_KEY, which has no row.
  named_key_id text references api_keys (id) on delete cascade,
  -- Null: those of the key.
  rights       text[],
  expires_at   timestamptz(3) not null,
  -- No renewal goes beyond it.
  ends_at      timestamptz(3) not null
);

create index key_sessions_by_key on key_sessions (named_key_id);
create index key_sessions_expired on key_sessions (expires_at);
