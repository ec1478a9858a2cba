-- Jobs: the truth of the system. What the columns mean is said in domain/jobs/job.ts.
--
-- options, results, error and trace are json, not jsonb: they are answered as they were written, in the order of the
-- specification, and nothing searches them.

create table jobs (
  id                uuid primary key,
  type              text not null,
  hash              text not null,
  source            text not null,
  options           json not null,
  idempotency_key   text not null,
  queue             text not null,
  status            text not null default 'queued'
                    check (status in ('queued', 'processing', 'completed', 'failed', 'cancelled')),
  phase             text,
  progress          smallint not null default 0 check (progress between 0 and 100),
  attempt           integer not null default 1 check (attempt > 0),
  failures          integer not null default 0 check (failures >= 0),
  source_size_bytes bigint,
  source_etag       text,
  callback_url      text,
  callback_status   text check (callback_status in ('pending', 'sent', 'callback_failed')),
  retry_of_job_id   uuid references jobs (id),
  error             json,
  results           json,
  trace             json,
  -- Who runs the current attempt, and until when that is believed without a sign of life.
  lease_owner       text,
  lease_expires_at  timestamptz,
  -- The current attempt must not begin earlier.
  not_before        timestamptz,
  -- When a ticket for the current attempt was last known to be on its way to the queue.
  ticketed_at       timestamptz not null default now(),
  -- Milliseconds, as the clients of this table have no finer clock.
  created_at        timestamptz(3) not null default now(),
  started_at        timestamptz(3),
  finished_at       timestamptz(3),
  updated_at        timestamptz(3) not null default now(),
  check ((lease_owner is null) = (lease_expires_at is null))
);

-- Decides "new or existing" (C11.24, C11.26): the list of statuses is that of liveStatuses.
create unique index jobs_live_idempotency_key on jobs (idempotency_key) where status not in ('failed', 'cancelled');

-- The list of jobs, newest first, by cursor.
create index jobs_by_time on jobs (created_at desc, id desc);
create index jobs_by_status on jobs (status, created_at desc, id desc);
create index jobs_by_hash on jobs (hash, created_at desc, id desc);
create index jobs_by_retry on jobs (retry_of_job_id) where retry_of_job_id is not null;

-- The sweeper: rows that should have a ticket, and leases that may have lapsed. Both hold active rows alone.
create index jobs_waiting on jobs (ticketed_at) where status in ('queued', 'processing') and lease_owner is null;
create index jobs_leased on jobs (lease_expires_at) where lease_owner is not null;

-- updated_at moves with every change that a caller can see, and never stands still in one millisecond, so that it may
-- serve as a version. A renewed lease or a ticket that was added again is no such change.
create function touch_job() returns trigger language plpgsql as $$
begin
  new.updated_at := greatest(clock_timestamp(), old.updated_at + interval '1 millisecond');
  return new;
end
$$;

create trigger jobs_touch
before update of status, phase, progress, attempt, failures, callback_status, error, results on jobs
for each row execute function touch_job();
