-- A job whose cleanup failed is tried again later, after others.

alter table jobs add column cleanup_attempts integer not null default 0;
alter table jobs add column cleanup_after timestamptz;
