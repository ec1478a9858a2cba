-- Host and port of an event that is to be sent: the sender shares its requests among hosts. A trigger, so that it holds
-- also for events of a worker of the version before. Of delivered events it stays null until they are delivered again.
alter table webhook_events add column host text;

create function note_webhook_host() returns trigger language plpgsql as $$
begin
  new.host := lower(substring(new.url from '://([^/?#]*)'));
  return new;
end
$$;

create trigger webhook_events_host before insert or update of next_attempt_at on webhook_events
for each row when (new.host is null) execute function note_webhook_host();
