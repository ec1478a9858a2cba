-- A rerun makes a job again that has ended. rerun_of_job_id is no foreign key: it is an input of the new revision, so it
-- stays when retention deletes the job that it names.
alter table jobs
  add column rerun_of_job_id uuid,
  add column rerun_reason text;
