-- The list of webhooks that were not delivered (platform/postgres/failed-webhooks.ts).
create index concurrently if not exists webhook_events_failed on webhook_events (failed_at desc, job_id desc)
  where failed_at is not null and job_id is not null and not is_additional;
