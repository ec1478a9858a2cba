-- When the delivery of an event failed for good; null before, and again after a redelivery has begun.
alter table webhook_events add column failed_at timestamptz(3);
-- An event that only tries a receiver: it has no job, and one attempt.
alter table webhook_events add column is_test boolean not null default false;
