import type { OverdueTask } from '#domain/jobs/overdue.ts';
import type { Database } from './database.ts';

/** From when on rows are due; null for a retention that is off. */
export interface DueTimes {
  readonly cleanupGraceMs: number;
  readonly jobRetentionMs: number | null;
  readonly revisionRetentionMs: number | null;
}

// The first entry of the index of each task: rows that are due, by the time from which they count.
const since = (parameter: string, from: string) =>
  `extract(epoch from now() - min(${from}))::float8 - ${parameter}::float8 / 1000`;
const overdue = `
  select
    (select ${since('$1', 'coalesce(cleanup_after, finished_at)')} from jobs
      where swept_at is null and finished_at is not null) as cleanup,
    (select ${since('$2', 'coalesce(retention_after, finished_at)')} from jobs
      where swept_at is not null) as job_retention,
    (select ${since('$3', 'coalesce(retention_after, replaced_at)')} from jobs
      where replaced_at is not null and revision_deleted_at is null) as revision_retention,
    (select ${since('0', 'next_attempt_at')} from webhook_events where next_attempt_at is not null) as webhooks`;

/** For how many seconds the first row of each task has been due; 0 where none is, and for a retention that is off. */
export async function overdueSeconds(
  { pool }: Pick<Database, 'pool'>,
  { cleanupGraceMs, jobRetentionMs, revisionRetentionMs }: DueTimes,
): Promise<Readonly<Record<OverdueTask, number>>> {
  const parameters = [cleanupGraceMs, jobRetentionMs, revisionRetentionMs];
  const { rows } = await pool.query<Record<OverdueTask, number | null>>(overdue, parameters);
  const secondsOf = (task: OverdueTask) => Math.max(0, rows[0]?.[task] ?? 0);
  return {
    cleanup: secondsOf('cleanup'),
    job_retention: secondsOf('job_retention'),
    revision_retention: secondsOf('revision_retention'),
    webhooks: secondsOf('webhooks'),
  };
}
