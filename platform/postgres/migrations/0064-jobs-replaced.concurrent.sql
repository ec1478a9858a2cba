-- Retention: streams that a later one replaced and whose objects are still there.

create index concurrently if not exists jobs_replaced on jobs (coalesce(retention_after, replaced_at))
  where replaced_at is not null and revision_deleted_at is null;
