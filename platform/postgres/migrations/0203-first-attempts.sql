-- jobs_first_attempts_by_key has taken its place.
drop index if exists jobs_first_attempts;
