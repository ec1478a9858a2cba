-- One content key for each media hash, kept for every later revision; wrapped (domain/playback/content-key.ts).

create table content_keys (
  hash       text primary key,
  kid        text not null unique,
  envelope   json not null,
  created_at timestamptz not null default now()
);
