-- When the objects of an ended upload are removed next, as imports have it: one that cannot be removed follows others.
alter table uploads add column due_at timestamptz not null default now();
