-- 0144 takes its place.
drop index uploads_to_clean_up;
