-- The list of all jobs. By an expression, so that the planner takes it for no filter: it would read past every newer job
-- of another hash or status.

create index concurrently if not exists jobs_by_age on jobs ((created_at at time zone 'UTC') desc, id desc);
