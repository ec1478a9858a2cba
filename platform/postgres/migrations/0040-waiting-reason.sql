-- Why the current attempt waits (domain/jobs/waiting.ts), where only its controller knows; null: it works, or other
-- columns say it.

alter table jobs add column waiting_reason json;

drop trigger jobs_touch on jobs;
create trigger jobs_touch
before update of status, phase, progress, attempt, failures, callback_status, error, results, waiting_reason on jobs
for each row execute function touch_job();
