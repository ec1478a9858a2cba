-- Where and before which others a job runs. pool: null where the queue decides. Jobs of a higher priority go first.
alter table jobs
  add column pool text,
  add column priority smallint not null default 0,
  -- Attempts that ended by a disruption: a drained node, a worker that stopped, a lapsed lease.
  add column disruptions integer not null default 0 check (disruptions >= 0);

-- A lease is renewed every few seconds, and no index may contain its end: then the new version of the row stays in its
-- page (a HOT update), for which the fill factor leaves space.
drop index jobs_leased;
create index jobs_leased on jobs (lease_owner) where lease_owner is not null;
alter table jobs set (fillfactor = 80);

-- Retention deletes old rows. A retry that is kept then no longer names the job that it retried.
alter table jobs
  drop constraint jobs_retry_of_job_id_fkey,
  add constraint jobs_retry_of_job_id_fkey foreign key (retry_of_job_id) references jobs (id) on delete set null not valid;

-- When retention removed the revision that a later one of the same hash had replaced.
alter table jobs add column revision_deleted_at timestamptz;
