-- How many slots a key gets beside others (domain/jobs/turns.ts).
alter table api_keys add column weight integer not null default 1 check (weight between 1 and 100);
