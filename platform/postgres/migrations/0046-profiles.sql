-- How the stream of a job is encoded; null: by the built-in profile `default`.
alter table jobs add column profile json;
