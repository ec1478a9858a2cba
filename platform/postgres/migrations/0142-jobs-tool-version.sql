-- The version of the runner that made the results. Null, so that no row is written: what earlier versions made has none.
alter table jobs add column tool_version text;
