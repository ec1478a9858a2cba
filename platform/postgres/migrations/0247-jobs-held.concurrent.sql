-- Jobs that wait for a quota of their API key, with not_before = 'infinity', in their order (docs/decisions/0382).
create index concurrently if not exists jobs_held on jobs (key_id, priority desc, created_at)
  where not_before = 'infinity';
