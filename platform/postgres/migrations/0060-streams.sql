-- What retention works by: columns of their own, since a query over `results` reads every row's json. They replace
-- earlier_removed_at, which workers of the version before alone write.
--
-- stream_rev: the revision in which the job's stream lies, also that of a chunked encode, which several jobs may share.
-- replaced_at: when a job of the same hash that was submitted later had ended with a stream.
-- results_expired: results name objects that retention removed, or is about to.
-- retention_after: stands in for replaced_at and finished_at once retention has claimed the row; cleanup_after stands
-- in for finished_at likewise. A row that cannot be worked on comes back after the others.
alter table jobs
  add column stream_rev text,
  add column replaced_at timestamptz,
  add column results_expired boolean not null default false,
  add column retention_after timestamptz;

-- A trigger, so that it holds whoever ends the job: during an update, a worker of the version before. Jobs of one hash
-- that end with a stream do so one after another (platform/postgres/job-end.ts). The text is searched, not the json,
-- which can be valid and yet unreadable.
create function note_stream() returns trigger language plpgsql as $$
begin
  new.stream_rev := substring(new.results::text from '"init":"videos/[^"]*/([0-9a-f]{16})/');
  if new.stream_rev is null then
    return new;
  end if;
  update jobs set replaced_at = now()
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

create trigger jobs_stream before update of results on jobs
for each row when (old.results is null and new.results is not null) execute function note_stream();

drop trigger jobs_touch on jobs;
create trigger jobs_touch
before update of status, phase, progress, attempt, failures, callback_status, error, results, waiting_reason,
  results_expired on jobs
for each row execute function touch_job();
