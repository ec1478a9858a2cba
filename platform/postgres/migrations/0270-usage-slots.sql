-- As before (0246), but a slot belongs to a transaction, for all keys: two that end jobs of several keys in other orders
-- each waited for a row of the other.
create or replace function note_usage() returns trigger language plpgsql as $$
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
  given.delivered_bytes := 0;
  -- A slot that no other transaction holds (docs/decisions/0405).
  select number into given.slot from generate_series(0, 15) as number
  where pg_try_advisory_xact_lock(270, number) limit 1;
  if given.slot is null then
    given.slot := pg_backend_pid() % 16;
    perform pg_advisory_xact_lock(270, given.slot);
  end if;
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
