-- The revisions of the chunked encodes that a job took part in, noted by a deletion of its media before the document
-- that names them is removed: cleanup looks there again once no worker can still be writing. Null: not noted.
alter table jobs add column chunked_revs text[];
