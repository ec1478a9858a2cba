-- How a media plays (domain/media/playback.ts). A row outlives its media, so that no ticket of a deleted media opens
-- what is made under the same hash later, and what was signed stays so.

create table playbacks (
  hash       text primary key,
  -- Null: nobody has decided it, and a profile may.
  is_signed  boolean,
  -- Tickets of a lesser one are withdrawn.
  generation bigint not null default 0,
  changed_at timestamptz not null default clock_timestamp()
);

create index playbacks_changed on playbacks (changed_at);
-- Servers read those that are signed first.
create index playbacks_signed on playbacks (hash) where is_signed;

-- A job by a profile with `playback: signed` decides it for a media of which nothing is there yet, at its submission, so
-- that every server knows before a stream is published. In the order of the hashes, so that two such statements cannot
-- deadlock.
create function note_playback() returns trigger language plpgsql as $$
begin
  insert into playbacks (hash, is_signed)
  select distinct hash, true from added
  where profile ->> 'playback' = 'signed' and not exists (select from media where media.hash = added.hash)
  order by hash
  on conflict (hash) do update set is_signed = true, changed_at = clock_timestamp()
  where playbacks.is_signed is null;
  return null;
end
$$;

create trigger jobs_playback after insert on jobs
referencing new table as added for each statement execute function note_playback();
