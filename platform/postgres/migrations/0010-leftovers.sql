-- Final jobs whose working objects and unpublished revisions were not looked for yet. Null: not yet.

alter table jobs add column swept_at timestamptz;

create index jobs_unswept on jobs (finished_at) where swept_at is null and finished_at is not null;
