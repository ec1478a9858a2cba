-- The order of what callers want of a media (decision 0182). intent: the number of the last request for the job's
-- stream; the stream with the greatest is played. replaces: the job whose stream a rollout saw; its rerun is played
-- over no other.
--
-- A default and a trigger, so that jobs of the version before are numbered too. Jobs of before have none, so that no
-- row is written: their age in milliseconds stands in for it, and every number is greater.
create sequence intents start 100000000000000;

alter table jobs add column intent bigint, add column replaces uuid;
alter table jobs alter column intent set default nextval('intents');

create function intent_of(intent bigint, created_at timestamptz) returns bigint language sql stable as $$
  select coalesce(intent, (extract(epoch from created_at) * 1000)::bigint)
$$;

-- A rerun is as old as what it makes again. Of a job that is gone nothing is known, so it replaces nothing.
create function inherit_intent() returns trigger language plpgsql as $$
begin
  new.intent := coalesce((select intent_of(intent, created_at) from jobs where id = new.rerun_of_job_id), 0);
  return new;
end
$$;

create trigger jobs_intent before insert on jobs
for each row when (new.rerun_of_job_id is not null) execute function inherit_intent();

-- Whether a stream of the hash is played that this one must not replace. Asked under the lock of the hash.
create function has_newer_stream(job_id uuid, of_hash text, number bigint, seen uuid) returns boolean
language sql stable as $$
  select exists (
    select from jobs
    where hash = of_hash and stream_rev is not null and replaced_at is null and id <> job_id
      and (intent_of(intent, created_at) > number or id <> seen)
  )
$$;

create or replace function note_stream() returns trigger language plpgsql as $$
begin
  new.stream_rev := substring(new.results::text from '"init":"videos/[^"]*/([0-9a-f]{16})/');
  if new.stream_rev is null then
    return new;
  end if;
  if has_newer_stream(new.id, new.hash, intent_of(new.intent, new.created_at), new.replaces) then
    new.replaced_at := clock_timestamp();
  else
    update jobs set replaced_at = clock_timestamp(), retention_after = null
    where hash = new.hash and stream_rev is not null and replaced_at is null and id <> new.id;
  end if;
  return new;
end
$$;
