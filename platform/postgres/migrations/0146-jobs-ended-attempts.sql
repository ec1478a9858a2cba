-- When the current attempt was claimed, and the attempts that have ended: what each took, by whom, and how it ended
-- (platform/postgres/ended-attempts.ts). Null, so that no row is written: attempts before this are not known.
alter table jobs add column claimed_at timestamptz(3), add column ended_attempts jsonb;
