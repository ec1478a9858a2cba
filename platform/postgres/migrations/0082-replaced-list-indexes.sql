-- 0080 and 0081 take the place of two; lists of a status are read from jobs_by_type, a type at a time. While one of them
-- is there, the planner takes it for a filter and reads past every newer job.
drop index jobs_by_time, jobs_by_hash, jobs_by_status;
