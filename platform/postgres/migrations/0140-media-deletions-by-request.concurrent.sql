-- What delivery servers ask every second: the deletions of the last seconds.

create index concurrently if not exists media_deletions_requested on media_deletions (requested_at);
