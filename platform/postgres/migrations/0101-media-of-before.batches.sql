-- The media of jobs that ended before: their sizes are not known, and count as nothing. A few hundred pages of the
-- table at a time.
do $$
declare
  pages constant bigint := 500;
  page bigint;
  last_page bigint;
begin
  last_page := pg_relation_size('jobs') / current_setting('block_size')::bigint;
  for page in select generate_series(0, last_page, pages) loop
    insert into media (hash, created_at)
    select hash, min(created_at) from jobs
    where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + pages)::tid
      and results is not null and not results_expired
    group by hash
    on conflict (hash) do nothing;
    commit;
  end loop;
end
$$;
