-- Ended uploads whose objects are to be removed, by when they are due; replaces uploads_to_clean_up.

create index concurrently if not exists uploads_to_remove on uploads (due_at)
  where status in ('aborted', 'expired') and cleaned_up_at is null;
