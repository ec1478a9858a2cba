-- Old jobs may be deleted, also those that a later one retried, and revisions that a newer stream replaced.

alter table jobs drop constraint jobs_retry_of_job_id_fkey;
alter table jobs add constraint jobs_retry_of_job_id_fkey
  foreign key (retry_of_job_id) references jobs (id) on delete set null not valid;

-- When the revisions of earlier streams of this job's hash were removed.
alter table jobs add column earlier_removed_at timestamptz;
