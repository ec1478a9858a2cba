-- 0107 and 0108 take its place.
alter table webhook_events drop constraint webhook_events_job_id_key;
