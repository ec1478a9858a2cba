-- What a key may use (domain/keys/quotas.ts). Null: it has no quota.
alter table api_keys add column quotas json;
