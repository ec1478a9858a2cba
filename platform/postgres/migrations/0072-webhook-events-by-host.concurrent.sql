-- The events of a host that are to be sent, in the order of their time.

create index concurrently if not exists webhook_events_by_host on webhook_events (host, next_attempt_at)
  where next_attempt_at is not null;
