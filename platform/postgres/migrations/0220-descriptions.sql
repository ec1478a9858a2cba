-- Title and metadata (domain/media/description.ts): of a job those that it was submitted with, of a media the last that
-- were said. Null, so that no row is written.
alter table jobs add column title text, add column metadata json;

-- Apart from media, whose rows begin with the first output: a title is there from the submission on.
create table descriptions (
  hash            text collate "C" primary key,
  title           text,
  metadata        json,
  -- The words of the title, for the search.
  words           tsvector,
  -- The intents that said them last (docs/decisions/0182); 0: none has.
  title_intent    bigint not null default 0,
  metadata_intent bigint not null default 0,
  -- When the job was accepted that said them, or else when they were said: a deletion takes what is older than itself.
  said_at         timestamptz not null
);
create index descriptions_by_words on descriptions using gin (words);

-- The last job of a media takes its rows with it. Deletions of the last jobs at once wait for each other by the
-- description, and the last of them sees that there is no job.
create or replace function forget_media() returns trigger language plpgsql as $$
begin
  delete from media where hash in (select hash from gone)
    and not exists (select from jobs where jobs.hash = media.hash);
  perform from descriptions where hash in (select hash collate "C" from gone) order by hash for update;
  if found then
    delete from descriptions where hash in (select hash collate "C" from gone)
      and not exists (select from jobs where jobs.hash = descriptions.hash);
  end if;
  return null;
end
$$;
