-- What the current attempt has used so far, as its worker says with each renewal of its lease, in milliseconds:
-- {attempt, fetch, process, publish, pod}. It counts where the worker is killed (docs/decisions/0380).
alter table jobs add column attempt_used json;
