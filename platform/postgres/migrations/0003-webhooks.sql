-- One event for each job that reached a final state and has a callback_url, written in the transaction of that state.

create table webhook_events (
  id              uuid primary key,
  job_id          uuid not null unique references jobs (id) on delete cascade,
  url             text not null,
  -- The exact bytes that are signed and sent, at every attempt.
  body            text not null,
  trace           json,
  -- Attempts of the current delivery; a redelivery begins at 0 again.
  attempts        integer not null default 0,
  -- When the next attempt is due; null once the delivery is over.
  next_attempt_at timestamptz,
  -- A sender that took the event has until then; another takes it after.
  held_until      timestamptz,
  created_at      timestamptz not null default now()
);

create index webhook_events_due on webhook_events (next_attempt_at) where next_attempt_at is not null;

create table webhook_attempts (
  id           bigint generated always as identity primary key,
  event_id     uuid not null references webhook_events (id) on delete cascade,
  attempt      integer not null,
  started_at   timestamptz not null,
  duration_ms  integer not null,
  -- Null when no answer came; error then says why.
  status_code  integer,
  error        text
);

create index webhook_attempts_by_event on webhook_attempts (event_id, id);
