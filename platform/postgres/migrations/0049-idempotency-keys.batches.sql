-- Keys of jobs with a profile also had the profile's digest: they are made from type, hash, source and options alone, as
-- `idempotencyKey` makes them. Options were written by JSON.stringify, whose numbers and strings are those of RFC 8785,
-- so only names are sorted here; no type with a profile nests objects deeper than two levels.
--
-- Of live jobs that are equal now, the newest has the key. Another one keeps its old key, or gets one that no request
-- has. Rows are locked for a thousand at a time, and a run that was interrupted begins again.

do $$
declare
  job record;
  moved bigint := 0;
begin
  for job in
    select id, created_at, encode(sha256(convert_to(
      '{"hash":' || to_json(hash) || ',"options":' || canonical || ',"source":' || to_json(source) ||
      ',"type":' || to_json(type) || '}', 'UTF8')), 'hex') as key
    from jobs cross join lateral (
      select '{' || coalesce(string_agg(to_json(name) || ':' || case json_typeof(member)
        when 'object' then (
          select '{' || coalesce(string_agg(to_json(key) || ':' || value, ',' order by key collate "C"), '') || '}'
          from json_each(member)
        )
        else member::text
      end, ',' order by name collate "C"), '') || '}' as canonical
      from json_each(options) as members (name, member)
    ) as sorted
    where profile is not null and status not in ('failed', 'cancelled')
    order by created_at, id
  loop
    update jobs set idempotency_key = idempotency_key || ':' || id
    where idempotency_key = job.key and status not in ('failed', 'cancelled')
      and (created_at, id) < (job.created_at, job.id);
    begin
      update jobs set idempotency_key = job.key
      where id = job.id and idempotency_key <> job.key and not exists (
        select from jobs as other where other.idempotency_key = job.key and other.status not in ('failed', 'cancelled'));
    exception when unique_violation then
      -- An equal job was accepted just now: it is the newest.
    end;
    moved := moved + 1;
    if moved % 1000 = 0 then
      commit;
    end if;
  end loop;
end
$$;
