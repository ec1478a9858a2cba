import { attemptsKept } from '#domain/jobs/attempts.ts';
import type { World } from './world.ts';

const ofJobs = `
  select id, used, recorded from (
    select id, used_fetch_ms + used_process_ms + used_publish_ms as used, (
      select coalesce(sum((entry ->> 'processor_ms')::bigint), 0)
      from jsonb_array_elements(ended_attempts) as entries (entry)
    ) as recorded
    from jobs where coalesce(jsonb_array_length(ended_attempts), 0) < ${attemptsKept}
  ) as counted where used <> recorded`;
const ofDays = `
  select * from (
    select coalesce(sum(jobs), 0) as ended, coalesce(sum(fetch_ms + process_ms + publish_ms), 0) as used,
      coalesce(sum(pod_ms), 0) as pods, coalesce(sum(wasted_ms), 0) as wasted from usage_daily
  ) as days cross join (
    select count(finished_at) as ended_jobs, coalesce(sum(used_fetch_ms + used_process_ms + used_publish_ms), 0) as used_jobs,
      coalesce(sum(used_pod_ms), 0) as pods_jobs, coalesce(sum(used_wasted_ms), 0) as wasted_jobs from jobs
  ) as records
  where (ended, used, pods, wasted) <> (ended_jobs, used_jobs, pods_jobs, wasted_jobs)`;
const totals = `
  sum(jobs) as ended, sum(fetch_ms + process_ms + publish_ms) as used, sum(pod_ms + wasted_ms) as pods,
  sum(stored_bytes + delivered_bytes) as bytes`;
const ofSums = `
  select span, days, summed from (
    select span, row_to_json(counted) as summed from (select span, ${totals} from usage_summed group by span) as counted
  ) as sums join (
    select row_to_json(counted) as days from (select ${totals} from usage_daily) as counted
  ) as days on (summed::jsonb - 'span') <> days::jsonb`;
const deleted = 'select from recorded_changes where new_status is null limit 1';

/** Each attempt is counted once: a job used what its attempts record, and days have the sums of the jobs. */
export async function usageOf({ database }: Pick<World, 'database'>): Promise<string[]> {
  // The sums of jobs whose rows were deleted stay in the days.
  const hasDeleted = (await database.pool.query(deleted)).rowCount !== 0;
  return usageOfRows({ database }, { hasDeleted });
}

/** The same without a record of changes. */
export async function usageOfRows(
  { database: { pool } }: Pick<World, 'database'>,
  { hasDeleted }: { readonly hasDeleted: boolean } = { hasDeleted: false },
): Promise<string[]> {
  const { rows: jobs } = await pool.query<{ id: string; used: string; recorded: string }>(ofJobs);
  const { rows: days } = hasDeleted ? { rows: [] } : await pool.query(ofDays);
  const { rows: sums } = await pool.query(ofSums);
  return [
    ...jobs.map(({ id, used, recorded }) => `I39: ${id} used ${used} ms, and its attempts ${recorded} ms`),
    ...days.map((each) => `I39: the days of usage differ from the jobs: ${JSON.stringify(each)}`),
    ...sums.map((each) => `I39: the sums of usage differ from its days: ${JSON.stringify(each)}`),
  ];
}
