-- The schema of version 0.1. What columns mean that have no comment is said where their rows are read (domain/).

-- The order of what callers want of a media (docs/decisions/0182). Every number is greater than the age of a job in
-- milliseconds, which stands in for the number of a job that has none.
create sequence intents start with 100000000000000;

-- Jobs: the truth of the system. What the columns mean is said in domain/jobs/job.ts.
--
-- options, results, error and trace are json, not jsonb: they are answered as they were written, in the order of the
-- specification, and nothing searches them. A lease is renewed every few seconds, and no index may contain its end:
-- then the new version of the row stays in its page (a HOT update), for which the fill factor leaves space.
create table jobs (
  id uuid primary key,
  type text not null,
  hash text not null,
  source text not null,
  options json not null,
  idempotency_key text not null,
  queue text not null,
  status text not null default 'queued'
    check (status in ('queued', 'processing', 'completed', 'failed', 'cancelled')),
  phase text,
  progress smallint not null default 0 check (progress between 0 and 100),
  attempt integer not null default 1 check (attempt > 0),
  failures integer not null default 0 check (failures >= 0),
  source_size_bytes bigint,
  source_etag text,
  callback_url text,
  callback_status text check (callback_status in ('pending', 'sent', 'callback_failed')),
  retry_of_job_id uuid references jobs on delete set null,
  error json,
  results json,
  trace json,
  -- Who runs the current attempt, and until when that is believed without a sign of life.
  lease_owner text,
  lease_expires_at timestamptz,
  -- The current attempt must not begin earlier.
  not_before timestamptz,
  -- When a ticket for the current attempt was last known to be on its way to the queue.
  ticketed_at timestamptz not null default now(),
  -- Milliseconds, as the clients of this table have no finer clock.
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  updated_at timestamptz(3) not null default now(),
  -- When working objects and unpublished revisions of a final job were looked for.
  swept_at timestamptz,
  -- Null: the queue decides. Jobs of a higher priority go first.
  pool text,
  priority smallint not null default 0,
  -- Attempts that ended by a disruption: a drained node, a worker that stopped, a lapsed lease.
  disruptions integer not null default 0 check (disruptions >= 0),
  -- When retention removed the revision that a later one of the same hash had replaced.
  revision_deleted_at timestamptz,
  cleanup_attempts integer not null default 0,
  -- A row whose cleanup failed comes back after the others.
  cleanup_after timestamptz,
  -- Why the current attempt waits (domain/jobs/waiting.ts), where only its controller knows; null: it works, or other
  -- columns say it.
  waiting_reason json,
  -- How the stream is encoded; null: by the built-in profile `default`.
  profile json,
  -- When the encoding of the current attempt began and at what progress, in percent, and when it will have ended at
  -- its speed so far.
  encoding_since timestamptz,
  encoding_from smallint,
  eta timestamptz,
  -- The revision in which the job's stream lies, also that of a chunked encode, which several jobs may share.
  stream_rev text,
  -- When a job of the same hash that is wanted later had ended with a stream.
  replaced_at timestamptz,
  -- Results name objects that retention removed, or is about to.
  results_expired boolean not null default false,
  -- Stands in for replaced_at and finished_at once retention has claimed the row.
  retention_after timestamptz,
  -- What the job made, as its manifest says.
  result_bytes bigint,
  result_objects integer,
  -- No foreign key: it is an input of the new revision, so it stays when retention deletes the job that it names.
  rerun_of_job_id uuid,
  rerun_reason text,
  -- The version of the runner that made the results.
  tool_version text,
  -- When the current attempt was claimed, and the attempts that have ended (platform/postgres/ended-attempts.ts).
  claimed_at timestamptz(3),
  ended_attempts jsonb,
  -- The number of the last request for the job's stream: the stream with the greatest is played. replaces: the job
  -- whose stream a rollout saw; its rerun is played over no other.
  intent bigint default nextval('intents'),
  replaces uuid,
  -- The revisions of the chunked encodes that a job took part in, noted by a deletion of its media before the
  -- document that names them is removed: cleanup looks there again once no worker can still be writing.
  chunked_revs text[],
  check ((lease_owner is null) = (lease_expires_at is null))
) with (fillfactor = 80);
-- How many jobs are ahead of one that waits (platform/postgres/job-waiting.ts).
create index jobs_backlog on jobs (queue, created_at)
  where status in ('queued', 'processing') and lease_owner is null;
-- The list of all jobs. By an expression, so that the planner takes it for no filter: it would read past every newer job
-- of another hash or status.
create index jobs_by_age on jobs ((created_at at time zone 'UTC') desc, id desc);
create index jobs_by_retry on jobs (retry_of_job_id) where retry_of_job_id is not null;
-- The list of jobs of a type, with or without a status (platform/postgres/job-list.ts).
create index jobs_by_type on jobs (type, status, created_at desc, id desc);
-- The stream of a hash that no later one has replaced: one row for each hash.
create index jobs_current_streams on jobs (hash) where stream_rev is not null and replaced_at is null;
-- What may share a runner, the oldest first (platform/postgres/batch-rows.ts): all that the query reads is in the index.
create index jobs_first_attempts on jobs (queue, type, created_at) include (id, not_before)
  where status = 'queued' and lease_owner is null and attempt = 1 and pool is null and priority = 0;
-- Leases that may have lapsed.
create index jobs_leased on jobs (lease_owner) where lease_owner is not null;
-- Decides "new or existing" (C11.24, C11.26): the list of statuses is that of liveStatuses.
create unique index jobs_live_idempotency_key on jobs (idempotency_key) where status not in ('failed', 'cancelled');
-- The list of a hash, with or without a type and a status.
create index jobs_of_hash on jobs (hash, type, status, created_at desc, id desc);
create index jobs_of_pools on jobs (pool, created_at)
  where pool is not null and lease_owner is null and status in ('queued', 'processing');
-- Retention: streams that a later one replaced and whose objects are still there.
create index jobs_replaced on jobs (coalesce(retention_after, replaced_at))
  where replaced_at is not null and revision_deleted_at is null;
-- Which jobs name one revision (platform/postgres/deletion-fence.ts).
create index jobs_stream_revs on jobs (hash, stream_rev, replaced_at) where stream_rev is not null;
-- Retention: old jobs whose working objects are gone.
create index jobs_swept on jobs (coalesce(retention_after, finished_at)) where swept_at is not null;
-- Cleanup: final jobs that were not cleaned up.
create index jobs_to_clean_up on jobs (coalesce(cleanup_after, finished_at))
  where swept_at is null and finished_at is not null;
-- Which jobs of a hash have not ended, or have just ended (platform/postgres/deletion-fence.ts).
create index jobs_unswept_by_hash on jobs (hash, finished_at) where swept_at is null;
-- The sweeper: rows that should have a ticket.
create index jobs_waiting on jobs (ticketed_at) where status in ('queued', 'processing') and lease_owner is null;

-- Further receivers of a job's end, beside jobs.callback_url: of equal submissions of the job while it was active.
create table job_callbacks (
  id bigint generated always as identity primary key,
  job_id uuid not null references jobs on delete cascade,
  url text not null
);
create index job_callbacks_by_job on job_callbacks (job_id);

-- Runs of the pods of a current attempt that have ended, such as of chunks, until the attempt ends with their sum.
create table attempt_runs (
  job_id uuid not null references jobs on delete cascade,
  attempt integer not null,
  pod text not null,
  run jsonb not null,
  primary key (job_id, attempt, pod)
);

-- One content key for each media hash, kept for every later revision; wrapped (domain/playback/content-key.ts).
create table content_keys (
  hash text primary key,
  kid text not null unique,
  envelope json not null,
  created_at timestamptz not null default now()
);

-- One event for each job that reached a final state and has a callback_url, written in the transaction of that state.
-- An event without a job has the paths of a media that was deleted or withdrawn, for PURGE_HOOK_URL.
create table webhook_events (
  id uuid primary key,
  job_id uuid references jobs on delete cascade,
  url text not null,
  -- The exact bytes that are signed and sent, at every attempt.
  body text not null,
  trace json,
  -- Attempts of the current delivery; a redelivery begins at 0 again.
  attempts integer not null default 0,
  -- When the next attempt is due; null once the delivery is over.
  next_attempt_at timestamptz,
  -- A sender that took the event has until then; another takes it after.
  held_until timestamptz,
  created_at timestamptz not null default now(),
  -- The delivery that attempts counts, so that an attempt of an earlier one is recognised.
  deliveries integer not null default 1,
  -- Host and port of an event that is to be sent: the sender shares its requests among hosts.
  host text,
  -- The event of a further receiver, which callback_status and a redelivery leave alone.
  is_additional boolean not null default false
);
-- The events of a host that are to be sent, in the order of their time.
create index webhook_events_by_host on webhook_events (host, next_attempt_at) where next_attempt_at is not null;
create index webhook_events_by_job on webhook_events (job_id);
create index webhook_events_due on webhook_events (next_attempt_at) where next_attempt_at is not null;
-- The event of a job's callback_url: one at most.
create unique index webhook_events_first on webhook_events (job_id) where not is_additional;
-- Purges of deleted media that were delivered or given up, for their retention.
create index webhook_events_of_purges on webhook_events (created_at) where job_id is null and next_attempt_at is null;

create table webhook_attempts (
  id bigint generated always as identity primary key,
  event_id uuid not null references webhook_events on delete cascade,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  -- Null when no answer came; error then says why.
  status_code integer,
  error text
);
create index webhook_attempts_by_event on webhook_attempts (event_id, id);

-- A media: everything made of one hash. What the columns mean is said in domain/library/media.ts. Deletion, expiry and
-- holds are of a media, not of a job.
create table media (
  hash text primary key,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  legal_hold boolean not null default false,
  bytes bigint not null default 0,
  objects bigint not null default 0,
  -- Whether a caller has set the expiry, be it to null: a profile then decides nothing.
  expiry_is_set boolean not null default false
);
create index media_by_age on media (created_at desc, hash desc);
create index media_by_bytes on media (bytes desc, hash desc);
-- By the first letters of the hash, whatever the collation of the database.
create index media_by_prefix on media (hash collate "C");
create index media_expiring on media (expires_at, hash) where expires_at is not null;

-- The deletion of a media. The one without lifted_at makes delivery answer 410; the next stream or image of the hash,
-- which is a new media, lifts it.
create table media_deletions (
  id uuid primary key,
  hash text not null,
  reason text not null check (reason in ('request', 'expiry')),
  requested_at timestamptz(3) not null default now(),
  -- The content key that was destroyed with the request.
  kid text,
  -- Of the objects that were there once nothing wrote any more; null until they were listed.
  objects bigint,
  bytes bigint,
  objects_sha256 text,
  objects_deleted bigint not null default 0,
  finished_at timestamptz(3),
  -- When the media is there again, by the clock and not by the begin of the transaction: delivery looks for what
  -- changed lately.
  lifted_at timestamptz(3),
  receipt json,
  -- When it is worked on next.
  due_at timestamptz not null default now()
);
create unique index media_deletions_current on media_deletions (hash) where lifted_at is null;
create index media_deletions_due on media_deletions (due_at) where finished_at is null;
create index media_deletions_ended on media_deletions (finished_at) where finished_at is not null;
-- As before, for hashes under which something was made again.
create index media_deletions_lifted on media_deletions (lifted_at) where lifted_at is not null;
-- What delivery servers ask every second: the deletions of the last seconds.
create index media_deletions_recent on media_deletions (coalesce(finished_at, 'infinity'::timestamptz))
  where lifted_at is null;
create index media_deletions_requested on media_deletions (requested_at);

-- How a media plays (domain/media/playback.ts). A row outlives its media, so that no ticket of a deleted media opens
-- what is made under the same hash later, and what was signed stays so.
create table playbacks (
  hash text primary key,
  -- Null: nobody has decided it, and a profile may.
  is_signed boolean,
  generation bigint not null default 0,
  changed_at timestamptz not null default clock_timestamp()
);
create index playbacks_changed on playbacks (changed_at);
create index playbacks_signed on playbacks (hash) where is_signed;

-- What players said of their state (CMCD), by media and day.
create table playback_days (
  hash text not null references media on delete cascade,
  day date not null,
  requests bigint not null,
  starved bigint not null,
  sessions bit(3072) not null,
  throughputs bigint[] not null,
  primary key (hash, day)
);
create index playback_days_by_day on playback_days (day);

-- Files on their way into the source bucket (domain/uploads/upload.ts has the states).
create table uploads (
  id uuid primary key,
  key_id text not null,
  name text not null,
  source text not null,
  size_bytes bigint not null,
  part_size_bytes bigint not null,
  content_type text,
  sha256 text,
  -- The store's name for the parts; null until it has given one.
  multipart_id text,
  status text not null default 'open' check (status in ('open', 'completing', 'completed', 'aborted', 'expired')),
  reason text,
  etag text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- When what an aborted or expired upload stored was removed, and when that is tried next.
  cleaned_up_at timestamptz,
  due_at timestamptz not null default now()
);
create index uploads_ended on uploads (ended_at);
create index uploads_open_by_key on uploads (key_id) where status in ('open', 'completing');
create index uploads_to_expire on uploads (expires_at) where status in ('open', 'completing');
create index uploads_to_remove on uploads (due_at) where status in ('aborted', 'expired') and cleaned_up_at is null;

-- Files that a worker fetches into the bucket of uploads (domain/imports/import.ts has the states).
create table imports (
  id uuid primary key,
  key_id text not null,
  url text not null,
  name text not null,
  source text not null,
  sha256 text,
  status text not null default 'queued' check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
  stored_bytes bigint not null default 0,
  -- The most that any attempt stored: one that gets no further counts as a failure.
  stored_bytes_max bigint not null default 0,
  size_bytes bigint,
  part_size_bytes bigint not null,
  content_type text,
  -- The ETag or the Last-Modified of the file that the stored bytes are of.
  validator text,
  multipart_id text,
  etag text,
  error_code text,
  http_status integer,
  failures integer not null default 0,
  -- One for each attempt; null between two.
  lease_owner uuid,
  -- The end of the lease, or the time of the next attempt.
  due_at timestamptz not null default now(),
  -- In milliseconds, as cursors of the list have it.
  created_at timestamptz(3) not null default now(),
  deadline_at timestamptz not null,
  ended_at timestamptz,
  -- When what a failed or cancelled import stored was removed.
  cleaned_up_at timestamptz
);
create index imports_due on imports (due_at) where status in ('queued', 'running');
create index imports_ended on imports (ended_at);
create index imports_newest on imports (created_at, id);
create index imports_open_by_key on imports (key_id) where status in ('queued', 'running');
create index imports_to_clean_up on imports (due_at)
  where status in ('failed', 'cancelled') and cleaned_up_at is null;

-- Versions of objects for which an event of the bucket was submitted. id: SHA-256 of bucket, key and version.
create table bucket_events (
  id bytea primary key,
  job_id uuid not null,
  seen_at timestamptz not null default now()
);
create index bucket_events_by_age on bucket_events (seen_at);

-- Rollouts: the streams of many media are made again (domain/rollouts/rollout.ts has the states).
create table rollouts (
  id uuid primary key,
  -- The namespace and name of the MediaRollout that has this id as its uid; null: a request.
  resource text,
  spec json not null,
  -- to_profile as it was when the rollout began; null: as the built-in default.
  profile json,
  status text not null
    check (status in ('canary', 'running', 'cancelling', 'rolling_back', 'completed', 'cancelled', 'rolled_back')),
  paused boolean not null default false,
  reason text,
  verdict json,
  -- Every media up to this hash was looked at.
  planned_after text not null default '',
  is_planned boolean not null default false,
  skipped json not null default '{}',
  -- What ended jobs took on that day in UTC, in seconds.
  spent_day date not null default '-infinity',
  spent_core_s double precision not null default 0,
  -- When it is worked on next.
  due_at timestamptz not null default now(),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  finished_at timestamptz(3)
);
create index rollouts_by_age on rollouts (created_at desc, id desc);
create index rollouts_due on rollouts (due_at) where status in ('canary', 'running', 'cancelling', 'rolling_back');
create index rollouts_of_resources on rollouts (id)
  where resource is not null and status in ('canary', 'running', 'cancelling', 'rolling_back');

-- A media of a rollout, once: whatever is repeated, the primary key holds.
create table rollout_items (
  rollout_id uuid not null references rollouts on delete cascade,
  hash text not null,
  is_canary boolean not null,
  status text not null check (status in ('planned', 'running', 'done', 'failed', 'skipped', 'rolled_back', 'kept')),
  -- Its stream when it was chosen.
  earlier_job_id uuid not null,
  earlier_rev text not null,
  -- The rerun. Named before it is made, and made by that id alone.
  job_id uuid,
  is_submitted boolean not null default false,
  reason text,
  bytes_before bigint,
  bytes_after bigint,
  measure text,
  score_before double precision,
  score_after double precision,
  due_at timestamptz not null default now(),
  -- How often its rerun gave way to a submission.
  gave_way smallint not null default 0,
  primary key (rollout_id, hash)
);
create index rollout_items_by_status on rollout_items (rollout_id, status, is_canary, due_at);

-- How many items have each status, and what they came to: changed with the items, so that no status counts rows.
create table rollout_counts (
  rollout_id uuid not null references rollouts on delete cascade,
  is_canary boolean not null,
  planned bigint not null default 0,
  running bigint not null default 0,
  done bigint not null default 0,
  failed bigint not null default 0,
  skipped bigint not null default 0,
  rolled_back bigint not null default 0,
  kept bigint not null default 0,
  bytes_before bigint not null default 0,
  bytes_after bigint not null default 0,
  scored bigint not null default 0,
  score_sum double precision not null default 0,
  compared bigint not null default 0,
  compared_before_sum double precision not null default 0,
  compared_after_sum double precision not null default 0,
  primary key (rollout_id, is_canary)
);

-- The encoding profiles that MediaProfiles define, with their rules: one row, which the leader writes.
create table cluster_profiles (
  is_only boolean default true primary key check (is_only),
  profiles json not null
);

-- The RunnerPools that were made or scaled by hand, and the names of all: one row, which the leader writes.
create table cluster_pools (
  is_only boolean default true primary key check (is_only),
  pools json not null,
  known text[] not null default '{}'
);

-- When a worker last found the object storage away: one row, so that the API can say why jobs wait.
create table storage_outage (
  is_only boolean default true primary key check (is_only),
  seen_at timestamptz not null
);

-- The key-value store where there is no Redis: counters of limits and small caches. Unlogged: a crash of the server may
-- empty it, as a restart empties a Redis.
create unlogged table key_values (
  key text primary key,
  value text,
  hits bigint,
  expires_at timestamptz not null
);
create index key_values_expired on key_values (expires_at);

create function intent_of(intent bigint, created_at timestamptz) returns bigint language sql stable as $$
  select coalesce(intent, (extract(epoch from created_at) * 1000)::bigint)
$$;

-- Whether a stream of the hash is played that this one must not replace. Asked under the lock of the hash.
create function has_newer_stream(job_id uuid, of_hash text, number bigint, seen uuid) returns boolean
  language sql stable as $$
  select exists (
    select from jobs
    where hash = of_hash and stream_rev is not null and replaced_at is null and id <> job_id
      and (intent_of(intent, created_at) > number or id <> seen)
  )
$$;

-- A rerun is as old as what it makes again. Of a job that is gone nothing is known, so it replaces nothing.
create function inherit_intent() returns trigger language plpgsql as $$
begin
  new.intent := coalesce((select intent_of(intent, created_at) from jobs where id = new.rerun_of_job_id), 0);
  return new;
end
$$;
create trigger jobs_intent before insert on jobs for each row when (new.rerun_of_job_id is not null)
  execute function inherit_intent();

-- Triggers, so that they hold whoever ends a job: during an update, a worker of the version before. Jobs of one hash
-- that end with a stream do so one after another (platform/postgres/job-end.ts). The text is searched, not the json,
-- which can be valid and yet unreadable.
create function note_stream() returns trigger language plpgsql as $$
begin
  new.stream_rev := substring(new.results::text from '"init":"videos/[^"]*/([0-9a-f]{16})/');
  if new.stream_rev is null then
    return new;
  end if;
  if has_newer_stream(new.id, new.hash, intent_of(new.intent, new.created_at), new.replaces) then
    new.replaced_at := clock_timestamp();
  else
    update jobs set replaced_at = clock_timestamp(), retention_after = null
    where hash = new.hash and stream_rev is not null and replaced_at is null and id <> new.id;
  end if;
  return new;
end
$$;
create trigger jobs_stream before update of results on jobs for each row
  when (old.results is null and new.results is not null)
  execute function note_stream();

-- updated_at moves with every change that a caller can see, and never stands still in one millisecond, so that it may
-- serve as a version. A renewed lease or a ticket that was added again is no such change.
create function touch_job() returns trigger language plpgsql as $$
begin
  new.updated_at := greatest(clock_timestamp(), old.updated_at + interval '1 millisecond');
  return new;
end
$$;
create trigger jobs_touch before update
  of status, phase, progress, attempt, failures, callback_status, error, results, waiting_reason, results_expired
  on jobs for each row
  execute function touch_job();

create function count_media() returns trigger language plpgsql as $$
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
create trigger jobs_media after update of results, results_expired on jobs for each row
  execute function count_media();

-- The last job of a media takes its row with it.
create function forget_media() returns trigger language plpgsql as $$
begin
  delete from media where hash in (select hash from gone)
    and not exists (select from jobs where jobs.hash = media.hash);
  return null;
end
$$;
create trigger jobs_forget_media after delete on jobs
  referencing old table as gone for each statement
  execute function forget_media();

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
  referencing new table as added for each statement
  execute function note_playback();

create function note_webhook_host() returns trigger language plpgsql as $$
begin
  new.host := lower(substring(new.url from '://([^/?#]*)'));
  return new;
end
$$;
create trigger webhook_events_host before insert or update of next_attempt_at on webhook_events for each row
  when (new.host is null)
  execute function note_webhook_host();
