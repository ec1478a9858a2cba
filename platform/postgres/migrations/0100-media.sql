-- A media: everything made of one hash. What the columns mean is said in domain/library/media.ts. Deletion, expiry and
-- holds are of a media, not of a job.

create table media (
  hash       text primary key,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  legal_hold boolean not null default false,
  bytes      bigint not null default 0,
  objects    bigint not null default 0
);

-- Lists: by age, by size, and by the first letters of the hash, whatever the collation of the database.
create index media_by_age on media (created_at desc, hash desc);
create index media_by_bytes on media (bytes desc, hash desc);
create index media_by_prefix on media (hash collate "C");
create index media_expiring on media (expires_at, hash) where expires_at is not null;

-- The deletion of a media. The one without lifted_at makes delivery answer 410; the next stream or image of the hash,
-- which is a new media, lifts it.
create table media_deletions (
  id              uuid primary key,
  hash            text not null,
  reason          text not null check (reason in ('request', 'expiry')),
  requested_at    timestamptz(3) not null default now(),
  -- The content key that was destroyed with the request.
  kid             text,
  -- Of the objects that were there once nothing wrote any more; null until they were listed.
  objects         bigint,
  bytes           bigint,
  objects_sha256  text,
  objects_deleted bigint not null default 0,
  finished_at     timestamptz(3),
  lifted_at       timestamptz(3),
  receipt         json,
  -- When it is worked on next.
  due_at          timestamptz not null default now()
);

create unique index media_deletions_current on media_deletions (hash) where lifted_at is null;
create index media_deletions_due on media_deletions (due_at) where finished_at is null;
create index media_deletions_recent on media_deletions (coalesce(finished_at, 'infinity')) where lifted_at is null;

-- What a job made, as its manifest says; null for jobs that ended before this version.
alter table jobs
  add column result_bytes bigint,
  add column result_objects integer;

-- Triggers, so that they hold whoever ends a job: during an update, a worker of the version before.
create function count_media() returns trigger language plpgsql as $$
begin
  if old.results is null and new.results is not null and new.status in ('completed', 'failed') then
    insert into media (hash, bytes, objects)
    values (new.hash, coalesce(new.result_bytes, 0), coalesce(new.result_objects, 0))
    on conflict (hash) do update set updated_at = now(),
      bytes = media.bytes + excluded.bytes, objects = media.objects + excluded.objects;
    update media_deletions set lifted_at = now()
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

create trigger jobs_media after update of results, results_expired on jobs
for each row execute function count_media();

-- The last job of a media takes its row with it.
create function forget_media() returns trigger language plpgsql as $$
begin
  delete from media where hash in (select hash from gone)
    and not exists (select from jobs where jobs.hash = media.hash);
  return null;
end
$$;

create trigger jobs_forget_media after delete on jobs
referencing old table as gone for each statement execute function forget_media();

-- An event without a job: the paths of a deleted media, for PURGE_HOOK_URL.
alter table webhook_events alter column job_id drop not null;
