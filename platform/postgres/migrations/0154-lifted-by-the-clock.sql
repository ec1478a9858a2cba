-- lifted_at is the time at which a media is there again. The transaction may have waited for seconds before, and delivery
-- looks for what changed lately.

create or replace function count_media() returns trigger language plpgsql as $$
begin
  if old.results is null and new.results is not null and new.status in ('completed', 'failed') then
    insert into media (hash, bytes, objects)
    values (new.hash, coalesce(new.result_bytes, 0), coalesce(new.result_objects, 0))
    on conflict (hash) do update set updated_at = now(),
      bytes = media.bytes + excluded.bytes, objects = media.objects + excluded.objects;
    update media_deletions set lifted_at = clock_timestamp()
    where hash = new.hash and lifted_at is null and finished_at is not null;
  elsif new.results_expired and not old.results_expired then
    update media set updated_at = now(),
      bytes = greatest(0, bytes - coalesce(new.result_bytes, 0)),
      objects = greatest(0, objects - coalesce(new.result_objects, 0))
    where hash = new.hash;
  end if;
  return null;
end
$$;
