-- The names of all RunnerPools of the cluster, for submissions that name one.

alter table cluster_pools add column known text[] not null default '{}';
