-- As before, for hashes under which something was made again.

create index concurrently if not exists media_deletions_lifted on media_deletions (lifted_at) where lifted_at is not null;
