-- Whether a caller has set the expiry, be it to null: a profile then decides nothing.
alter table media add column expiry_is_set boolean not null default false;
