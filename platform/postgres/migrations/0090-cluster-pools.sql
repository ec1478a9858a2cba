-- The RunnerPools that were made or scaled by hand: one row, which the leader writes.

create table cluster_pools (
  is_only boolean primary key default true check (is_only),
  pools json not null
);
