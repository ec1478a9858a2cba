-- Further receivers of a job's end, beside jobs.callback_url: of equal submissions of the job while it was active.
create table job_callbacks (
  id     bigint generated always as identity primary key,
  job_id uuid not null references jobs (id) on delete cascade,
  url    text not null
);

create index job_callbacks_by_job on job_callbacks (job_id);

-- The event of such a receiver, which callback_status and a redelivery leave alone.
alter table webhook_events add column is_additional boolean not null default false;
