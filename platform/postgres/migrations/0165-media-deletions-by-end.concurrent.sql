-- Receipts are forgotten by the end of their deletion: without it each round read all of them.

create index concurrently if not exists media_deletions_ended on media_deletions (finished_at) where finished_at is not null;
