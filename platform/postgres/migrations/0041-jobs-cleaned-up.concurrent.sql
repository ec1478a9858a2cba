-- Retention: old jobs whose working objects are gone.

create index concurrently if not exists jobs_cleaned_up on jobs (finished_at) where swept_at is not null;
