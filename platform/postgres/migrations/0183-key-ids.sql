-- The API key that asked for it (domain/keys/api-key.ts), as uploads and imports have it. Null: of the time before, or
-- asked for by an object of Kubernetes, an event of the bucket or an expiry.
alter table jobs add column key_id text;
alter table media_deletions add column key_id text;
alter table rollouts add column key_id text;
