-- Purges of deleted media that were delivered or given up, for their retention.

create index concurrently if not exists webhook_events_of_purges on webhook_events (created_at)
  where job_id is null and next_attempt_at is null;
