-- 0065 and 0066 take their place.
drop index jobs_unswept, jobs_cleaned_up;
