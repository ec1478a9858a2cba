-- What pods of an attempt ran whose Jobs were deleted before the attempt ended: each once.

create table attempt_runs (
  job_id uuid not null references jobs (id) on delete cascade,
  attempt integer not null,
  pod text not null,
  run jsonb not null,
  primary key (job_id, attempt, pod)
);
