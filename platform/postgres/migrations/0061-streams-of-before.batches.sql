-- Rows of before: json that no query can read (half of a surrogate pair, NUL) becomes readable, and stream_rev and
-- replaced_at are filled in. A few hundred pages of the table at a time, so that no row stays locked. Rows that others
-- have locked are taken later: a job that ends locks several rows of its hash, in another order.
do $$
declare
  unfit constant text := '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})';
  pages constant bigint := 500;
  page bigint;
  last_page bigint;
  ids uuid[];
begin
  last_page := pg_relation_size('jobs') / current_setting('block_size')::bigint;
  for page in select generate_series(0, last_page, pages) loop
    ids := array(select id from jobs
      where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + pages)::tid
        and (results::text ~ unfit or error::text ~ unfit));
    while cardinality(ids) > 0 loop
      with free as (select id from jobs where id = any(ids) for update skip locked),
      done as (
        update jobs set
          results = regexp_replace(results::text, unfit, '\1\\ufffd', 'g')::json,
          error = regexp_replace(error::text, unfit, '\1\\ufffd', 'g')::json
        from free where jobs.id = free.id returning jobs.id
      )
      select array(select id from jobs where id = any(ids) except select id from done) into ids;
      commit;
      perform pg_sleep(0.1) where cardinality(ids) > 0;
    end loop;
    ids := array(select id from jobs
      where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + pages)::tid
        and stream_rev is null and results::text like '%"init":"videos/%');
    while cardinality(ids) > 0 loop
      with free as (select id from jobs where id = any(ids) for update skip locked),
      done as (
        update jobs set stream_rev = substring(results::text from '"init":"videos/[^"]*/([0-9a-f]{16})/')
        from free where jobs.id = free.id returning jobs.id
      )
      select array(select id from jobs where id = any(ids) except select id from done) into ids;
      commit;
      perform pg_sleep(0.1) where cardinality(ids) > 0;
    end loop;
  end loop;
  last_page := pg_relation_size('jobs') / current_setting('block_size')::bigint;
  for page in select generate_series(0, last_page, pages) loop
    ids := array(select id from jobs
      where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + pages)::tid
        and stream_rev is not null and replaced_at is null);
    while cardinality(ids) > 0 loop
      with free as (select id from jobs where id = any(ids) for update skip locked),
      done as (
        update jobs set replaced_at = coalesce(replaced_at, (
          select finished_at from jobs newer
          where newer.hash = jobs.hash and newer.stream_rev is not null
            and (newer.created_at, newer.id) > (jobs.created_at, jobs.id)
          order by newer.created_at, newer.id limit 1
        ))
        from free where jobs.id = free.id returning jobs.id
      )
      select array(select id from jobs where id = any(ids) except select id from done) into ids;
      commit;
      perform pg_sleep(0.1) where cardinality(ids) > 0;
    end loop;
  end loop;
end
$$;
