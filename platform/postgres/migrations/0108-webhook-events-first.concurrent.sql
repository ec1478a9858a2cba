-- The event of a job's callback_url: one at most.

create unique index concurrently if not exists webhook_events_first on webhook_events (job_id) where not is_additional;
