-- Which named keys are those of API_KEYS_FILE: they come and go with its entries.
alter table api_keys add column origin text not null default 'api' check (origin in ('api', 'file'));
