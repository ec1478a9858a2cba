import type { Database } from '#platform/postgres/database.ts';

/** One change of a row of `jobs`, in the order in which they were made. */
export interface RowChange {
  readonly job_id: string;
  readonly old_status: string | null;
  readonly new_status: string | null;
  readonly old_attempt: number | null;
  readonly new_attempt: number | null;
  readonly old_progress: number | null;
  readonly new_progress: number | null;
}

const record = `
  create table recorded_changes (
    seq bigserial primary key,
    job_id uuid not null,
    old_status text, new_status text,
    old_attempt int, new_attempt int,
    old_progress int, new_progress int
  );
  create function record_change() returns trigger language plpgsql as $$
  begin
    insert into recorded_changes
      (job_id, old_status, new_status, old_attempt, new_attempt, old_progress, new_progress)
    values
      (coalesce(new.id, old.id), old.status, new.status, old.attempt, new.attempt, old.progress, new.progress);
    return null;
  end $$;
  create trigger record_change after insert or update or delete on jobs
    for each row execute function record_change()`;

/** From now on the database itself writes down every change of a job, whoever makes it. */
export async function recordRows(database: Database): Promise<void> {
  await database.pool.query(record);
}

export async function rowChanges(database: Database, jobId: string): Promise<RowChange[]> {
  const { rows } = await database.pool.query<RowChange>(
    'select * from recorded_changes where job_id = $1 order by seq',
    [jobId],
  );
  return rows;
}
