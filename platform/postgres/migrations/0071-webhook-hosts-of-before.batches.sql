-- Events of before that are to be sent. The bytes of one that was cut in half a surrogate pair become readable.
do $$
declare
  unfit constant text := '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})';
  pages constant bigint := 500;
  page bigint;
begin
  for page in
    select generate_series(0, pg_relation_size('webhook_events') / current_setting('block_size')::bigint, pages)
  loop
    update webhook_events set
      next_attempt_at = next_attempt_at, body = regexp_replace(body, unfit, '\1\\ufffd', 'g')
    where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + pages)::tid
      and ((next_attempt_at is not null and host is null) or body ~ unfit);
    commit;
  end loop;
end
$$;
