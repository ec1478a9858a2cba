-- When the metadata was said, apart from the title, whose time said_at is from now on: a deletion takes only what is
-- older than itself. Null in rows of before: at said_at, which was the earlier of both. -infinity: it never was.
alter table descriptions add column metadata_said_at timestamptz;
