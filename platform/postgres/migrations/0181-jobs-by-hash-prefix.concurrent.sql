-- The jobs below the hash_prefix of an API key, whatever the collation of the database.

create index concurrently if not exists jobs_by_hash_prefix on jobs (hash collate "C");
