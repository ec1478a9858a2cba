-- The list of the imports of an API key.

create index concurrently if not exists imports_by_key on imports (key_id, created_at desc, id desc);
