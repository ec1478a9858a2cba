-- Rollouts: the streams of many media are made again (domain/rollouts/rollout.ts has the states).

create table rollouts (
  id            uuid primary key,
  -- The namespace and name of the MediaRollout that has this id as its uid; null: a request.
  resource      text,
  spec          json not null,
  -- to_profile as it was when the rollout began; null: as the built-in default.
  profile       json,
  status        text not null check (
    status in ('canary', 'running', 'cancelling', 'rolling_back', 'completed', 'cancelled', 'rolled_back')
  ),
  paused        boolean not null default false,
  reason        text,
  verdict       json,
  -- Every media up to this hash was looked at.
  planned_after text not null default '',
  is_planned    boolean not null default false,
  skipped       json not null default '{}',
  -- What ended jobs took on that day in UTC.
  spent_day     date not null default '-infinity',
  spent_core_s  double precision not null default 0,
  -- When it is worked on next.
  due_at        timestamptz not null default now(),
  created_at    timestamptz(3) not null default now(),
  updated_at    timestamptz(3) not null default now(),
  finished_at   timestamptz(3)
);

create index rollouts_due on rollouts (due_at) where status in ('canary', 'running', 'cancelling', 'rolling_back');
create index rollouts_of_resources on rollouts (id)
  where resource is not null and status in ('canary', 'running', 'cancelling', 'rolling_back');
create index rollouts_by_age on rollouts (created_at desc, id desc);

-- A media of a rollout, once: whatever is repeated, the primary key holds.
create table rollout_items (
  rollout_id     uuid not null references rollouts (id) on delete cascade,
  hash           text not null,
  is_canary      boolean not null,
  status         text not null check (
    status in ('planned', 'running', 'done', 'failed', 'skipped', 'rolled_back', 'kept')
  ),
  -- Its stream when it was chosen.
  earlier_job_id uuid not null,
  earlier_rev    text not null,
  -- The rerun. Named before it is made, and made by that id alone.
  job_id         uuid,
  is_submitted   boolean not null default false,
  reason         text,
  bytes_before   bigint,
  bytes_after    bigint,
  measure        text,
  score_before   double precision,
  score_after    double precision,
  due_at         timestamptz not null default now(),
  primary key (rollout_id, hash)
);

create index rollout_items_by_status on rollout_items (rollout_id, status, is_canary, due_at);

-- How many items have each status, and what they came to: changed with the items, so that no status counts rows.
create table rollout_counts (
  rollout_id          uuid not null references rollouts (id) on delete cascade,
  is_canary           boolean not null,
  planned             bigint not null default 0,
  running             bigint not null default 0,
  done                bigint not null default 0,
  failed              bigint not null default 0,
  skipped             bigint not null default 0,
  rolled_back         bigint not null default 0,
  kept                bigint not null default 0,
  bytes_before        bigint not null default 0,
  bytes_after         bigint not null default 0,
  scored              bigint not null default 0,
  score_sum           double precision not null default 0,
  compared            bigint not null default 0,
  compared_before_sum double precision not null default 0,
  compared_after_sum  double precision not null default 0,
  primary key (rollout_id, is_canary)
);
