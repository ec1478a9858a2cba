-- The list of jobs of an error code (platform/postgres/job-list.ts), and how many jobs failed with each.
create index concurrently if not exists jobs_by_code on jobs ((error ->> 'code'), type, created_at desc, id desc)
  where error is not null;
