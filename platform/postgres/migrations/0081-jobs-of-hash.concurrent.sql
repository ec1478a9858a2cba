-- The list of a hash, with or without a type and a status.

create index concurrently if not exists jobs_of_hash on jobs (hash, type, status, created_at desc, id desc);
