-- What work cost, by day (UTC), API key, type, profile and codec (docs/decisions/0360).

-- Of all attempts of a job that have ended, in milliseconds: the processor time of each step, the time of pods (a
-- worker's process counts as one), and how much of it was for nothing, since the attempt was killed or repeated.
-- source_ms and output_ms: how long the source is, and the renditions together, of what the results name.
alter table jobs
  add column used_fetch_ms bigint not null default 0,
  add column used_process_ms bigint not null default 0,
  add column used_publish_ms bigint not null default 0,
  add column used_pod_ms bigint not null default 0,
  add column used_wasted_ms bigint not null default 0,
  add column source_ms bigint not null default 0,
  add column output_ms bigint not null default 0;

-- '' stands for: no API key asked for it; the built-in profile, or none; no codec of video. Transactions that end at
-- once add to different slots, so that none waits for the other's commit; a reader adds the slots up.
create table usage_daily (
  day date not null,
  key_id text not null,
  type text not null,
  profile text not null,
  codec text not null,
  slot smallint not null,
  -- Jobs that ended, however.
  jobs bigint not null,
  source_bytes bigint not null,
  source_ms bigint not null,
  output_bytes bigint not null,
  output_ms bigint not null,
  fetch_ms bigint not null,
  process_ms bigint not null,
  publish_ms bigint not null,
  pod_ms bigint not null,
  wasted_ms bigint not null,
  -- What results take up more at the end of the day than at its beginning; negative where more was removed.
  stored_bytes bigint not null,
  primary key (key_id, day, type, profile, codec, slot)
) with (fillfactor = 50);
create index usage_daily_by_day on usage_daily (day);

-- A trigger adds what a row of jobs gained to the day, so that every end counts once, whichever statement it is, and
-- the sums of days are those of jobs. It runs right before the commit, so that its lock is held for no longer.
create function note_usage() returns trigger language plpgsql as $$
declare
  has_ended constant boolean := old.finished_at is null and new.finished_at is not null;
  has_results constant boolean := old.results is null and new.results is not null;
  given usage_daily;
begin
  given.day := (case when has_ended then new.finished_at else clock_timestamp() end at time zone 'UTC')::date;
  given.key_id := coalesce(new.key_id, '');
  given.type := new.type;
  given.profile := coalesce(new.profile ->> 'name', '');
  select coalesce(string_agg(distinct coalesce(rung ->> 'codec', 'h264'), '+'), '') into given.codec
  from json_array_elements(new.profile -> 'ladder') as rung;
  given.jobs := has_ended::int;
  given.source_bytes := case when has_ended then coalesce(new.source_size_bytes, 0) else 0 end;
  given.source_ms := new.source_ms - old.source_ms;
  given.output_bytes := case when has_results then coalesce(new.result_bytes, 0) else 0 end;
  given.output_ms := new.output_ms - old.output_ms;
  given.fetch_ms := new.used_fetch_ms - old.used_fetch_ms;
  given.process_ms := new.used_process_ms - old.used_process_ms;
  given.publish_ms := new.used_publish_ms - old.used_publish_ms;
  given.pod_ms := new.used_pod_ms - old.used_pod_ms;
  given.wasted_ms := new.used_wasted_ms - old.used_wasted_ms;
  given.stored_bytes :=
    case when new.results is null or new.results_expired then 0 else coalesce(new.result_bytes, 0) end
    - case when old.results is null or old.results_expired then 0 else coalesce(old.result_bytes, 0) end;
  -- A slot that no other transaction holds.
  select slot into given.slot from usage_daily
  where key_id = given.key_id and day = given.day and type = given.type and profile = given.profile
    and codec = given.codec
  order by slot limit 1 for update skip locked;
  given.slot := coalesce(given.slot, pg_backend_pid() % 16);
  insert into usage_daily as kept select given.*
  on conflict (key_id, day, type, profile, codec, slot) do update set
    jobs = kept.jobs + excluded.jobs,
    source_bytes = kept.source_bytes + excluded.source_bytes,
    source_ms = kept.source_ms + excluded.source_ms,
    output_bytes = kept.output_bytes + excluded.output_bytes,
    output_ms = kept.output_ms + excluded.output_ms,
    fetch_ms = kept.fetch_ms + excluded.fetch_ms,
    process_ms = kept.process_ms + excluded.process_ms,
    publish_ms = kept.publish_ms + excluded.publish_ms,
    pod_ms = kept.pod_ms + excluded.pod_ms,
    wasted_ms = kept.wasted_ms + excluded.wasted_ms,
    stored_bytes = kept.stored_bytes + excluded.stored_bytes;
  return null;
end
$$;
create constraint trigger jobs_usage after update of used_pod_ms, finished_at, results, results_expired on jobs
  deferrable initially deferred for each row
  when (
    (old.finished_at is null, old.results is null, old.results_expired, old.used_pod_ms, old.used_fetch_ms,
      old.used_process_ms, old.used_publish_ms)
    <> (new.finished_at is null, new.results is null, new.results_expired, new.used_pod_ms, new.used_fetch_ms,
      new.used_process_ms, new.used_publish_ms)
  )
  execute function note_usage();
