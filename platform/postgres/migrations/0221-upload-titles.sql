-- The title of the media that an event of the bucket makes of the file. Null, so that no row is written.
alter table uploads add column title text;
alter table imports add column title text;
