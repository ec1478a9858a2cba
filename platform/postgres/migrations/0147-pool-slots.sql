-- The slots of the runner pools as their workers last counted them, every few seconds. With the process executor each
-- worker has its own; with Kubernetes the leader counts those of the cluster.
create table pool_slots (
  pool text not null,
  owner text not null,
  used integer not null check (used >= 0),
  total integer not null check (total >= 0),
  seen_at timestamptz not null default now(),
  primary key (pool, owner)
);
