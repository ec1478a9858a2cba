-- Bytes of streams that were sent, in the usage of the day (docs/decisions/0381).
alter table usage_daily add column delivered_bytes bigint not null default 0;

-- As before (0210), with the new column.
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

-- Adds what a server has sent of media: to the usage of the job whose stream is played, or where it is not known any
-- more, of the key with the longest hash_prefix that the hash begins with. Delivery calls it, whose role may read and
-- write none of these tables. Its slot is beyond those of ends, so that neither waits for the other for long; two calls
-- take their rows in one order.
create function note_delivered(of_hashes text[], of_bytes bigint[]) returns void
language sql security definer set search_path from current as $$
  insert into usage_daily as kept (
    day, key_id, type, profile, codec, slot, jobs, source_bytes, source_ms, output_bytes, output_ms, fetch_ms,
    process_ms, publish_ms, pod_ms, wasted_ms, stored_bytes, delivered_bytes
  )
  select (now() at time zone 'UTC')::date, key_id, type, profile, codec, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sum(bytes)
  from (
    select given.bytes, coalesce(played.key_id, owner.id, '') as key_id,
      coalesce(played.type, 'video:transcode') as type, coalesce(played.profile ->> 'name', '') as profile,
      coalesce((
        select string_agg(distinct coalesce(rung ->> 'codec', 'h264'), '+')
        from json_array_elements(played.profile -> 'ladder') as rung
      ), '') as codec
    from unnest(of_hashes, of_bytes) as given (hash, bytes)
    left join lateral (
      select true as is_there, key_id, type, profile from jobs
      where hash = given.hash and stream_rev is not null and replaced_at is null limit 1
    ) as played on true
    left join lateral (
      select id from api_keys
      where played.is_there is null and hash_prefix is not null and starts_with(given.hash, hash_prefix)
      order by length(hash_prefix) desc, id limit 1
    ) as owner on true
  ) as sent
  group by key_id, type, profile, codec order by key_id, type, profile, codec
  on conflict (key_id, day, type, profile, codec, slot) do update
    set delivered_bytes = kept.delivered_bytes + excluded.delivered_bytes
$$;
