-- The events of a job, for its deletion.

create index concurrently if not exists webhook_events_by_job on webhook_events (job_id);
