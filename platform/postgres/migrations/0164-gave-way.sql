-- How often the rerun of an item was cancelled to give way to a submission: the third keeps its slot.
alter table rollout_items add column gave_way smallint not null default 0;
