-- retention_after stands in for replaced_at: a time that the retention of jobs wrote before must not count from then on.

create or replace function note_stream() returns trigger language plpgsql as $$
begin
  new.stream_rev := substring(new.results::text from '"init":"videos/[^"]*/([0-9a-f]{16})/');
  if new.stream_rev is null then
    return new;
  end if;
  update jobs set replaced_at = now(), retention_after = null
  where hash = new.hash and stream_rev is not null and replaced_at is null
    and (created_at, id) < (new.created_at, new.id);
  if exists (
    select from jobs
    where hash = new.hash and stream_rev is not null and replaced_at is null
      and (created_at, id) > (new.created_at, new.id)
  ) then
    new.replaced_at := now();
  end if;
  return new;
end
$$;
