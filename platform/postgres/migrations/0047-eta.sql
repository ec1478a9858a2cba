-- When the encoding of the current attempt began and at what progress, in percent, and when it will have ended at its
-- speed so far.
alter table jobs add column encoding_since timestamptz, add column encoding_from smallint, add column eta timestamptz;
