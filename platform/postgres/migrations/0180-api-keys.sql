-- Named API keys (domain/keys/api-key.ts). A row never changes but for its last use, and goes when the key is revoked.

create table api_keys (
  -- The first 8 hex digits of the SHA-256.
  id            text primary key,
  name          text not null,
  sha256        bytea not null unique,
  rights        text[] not null,
  hash_prefix   text,
  source_prefix text,
  profiles      text[],
  priority_max  integer not null default 0,
  created_at    timestamptz(3) not null default now(),
  expires_at    timestamptz(3),
  -- The hour.
  last_used_at  timestamptz(3)
);

create unique index api_keys_by_name on api_keys (name collate "C");
