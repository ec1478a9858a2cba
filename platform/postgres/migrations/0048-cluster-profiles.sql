-- The encoding profiles that MediaProfiles define, with their rules: one row, which the leader writes.

create table cluster_profiles (
  is_only boolean primary key default true check (is_only),
  profiles json not null
);
