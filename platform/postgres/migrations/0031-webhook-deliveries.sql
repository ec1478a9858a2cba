-- The delivery that `attempts` counts: a redelivery is the next one, so an attempt of an earlier one is recognised.

alter table webhook_events add column deliveries integer not null default 1;
