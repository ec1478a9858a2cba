-- The list of jobs of a type, with or without a status (platform/postgres/job-list.ts).

create index concurrently if not exists jobs_by_type on jobs (type, status, created_at desc, id desc);
