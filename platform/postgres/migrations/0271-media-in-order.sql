-- As before (0220), with the media locked in one order (docs/decisions/0405).
create or replace function forget_media() returns trigger language plpgsql as $$
begin
  perform from media where hash in (select hash from gone)
    and not exists (select from jobs where jobs.hash = media.hash) order by hash for update;
  if found then
    delete from media where hash in (select hash from gone)
      and not exists (select from jobs where jobs.hash = media.hash);
  end if;
  perform from descriptions where hash in (select hash collate "C" from gone) order by hash for update;
  if found then
    delete from descriptions where hash in (select hash collate "C" from gone)
      and not exists (select from jobs where jobs.hash = descriptions.hash);
  end if;
  return null;
end
$$;
