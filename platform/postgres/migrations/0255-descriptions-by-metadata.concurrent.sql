-- Media by the strings of their metadata. `metadata` is json, so that callers get their strings in their order.
create index concurrently if not exists descriptions_by_metadata on descriptions
  using gin ((metadata::jsonb) jsonb_path_ops);
