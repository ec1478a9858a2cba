-- Usage in fewer rows, since a year of many keys is too much to add up at each question (docs/decisions/0403): by month
-- with its keys (`day` is the first of the month), and by day for all keys together (`key_id` is '').
create table usage_summed (
  span text not null check (span in ('month', 'day')),
  like usage_daily,
  primary key (span, day, key_id, type, profile, codec, slot)
) with (fillfactor = 50);

-- Whoever writes a row of usage_daily has its slot for himself (0270), and so has the rows of it here.
create function sum_usage() returns trigger language plpgsql as $$
begin
  insert into usage_summed as kept
  select span, of_day, of_key, type, profile, codec, slot, sum(sign * jobs), sum(sign * source_bytes),
    sum(sign * source_ms), sum(sign * output_bytes), sum(sign * output_ms), sum(sign * fetch_ms),
    sum(sign * process_ms), sum(sign * publish_ms), sum(sign * pod_ms), sum(sign * wasted_ms),
    sum(sign * stored_bytes), sum(sign * delivered_bytes)
  from (
    select 1 as sign, (new).* where tg_op <> 'DELETE'
    union all select -1, (old).* where tg_op <> 'INSERT'
  ) as changed cross join lateral (
    values ('month', date_trunc('month', day)::date, key_id), ('day', day, '')
  ) as sums (span, of_day, of_key)
  group by span, of_day, of_key, type, profile, codec, slot
  on conflict (span, day, key_id, type, profile, codec, slot) do update set
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
    stored_bytes = kept.stored_bytes + excluded.stored_bytes,
    delivered_bytes = kept.delivered_bytes + excluded.delivered_bytes;
  return null;
end
$$;
-- Before the rows are read: from here to the commit no job can end.
create trigger usage_daily_summed after insert or update or delete on usage_daily
  for each row execute function sum_usage();
insert into usage_summed
select span, of_day, of_key, type, profile, codec, slot, sum(jobs), sum(source_bytes), sum(source_ms),
  sum(output_bytes), sum(output_ms), sum(fetch_ms), sum(process_ms), sum(publish_ms), sum(pod_ms), sum(wasted_ms),
  sum(stored_bytes), sum(delivered_bytes)
from usage_daily cross join lateral (
  values ('month', date_trunc('month', day)::date, key_id), ('day', day, '')
) as sums (span, of_day, of_key)
group by span, of_day, of_key, type, profile, codec, slot;

-- As before (0246), but one call at a time has the slot, as every transaction has its own (0270).
create or replace function note_delivered(of_hashes text[], of_bytes bigint[]) returns void
language sql security definer set search_path from current as $$
  select pg_advisory_xact_lock(270, 16);
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
  group by key_id, type, profile, codec
  on conflict (key_id, day, type, profile, codec, slot) do update
    set delivered_bytes = kept.delivered_bytes + excluded.delivered_bytes
$$;
