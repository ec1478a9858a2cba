import { jobTypeNames, jobTypeRow } from '../job-types/index.ts';
import { unitKindRow } from './unit.ts';
import type { Job } from '../jobs/job.ts';

/** Job types whose runner may do one job after another. */
export const batchTypes = jobTypeNames.filter((type) => unitKindRow(jobTypeRow(type).firstUnit).sharesRunner);

/**
 * The columns of a waiting job that a batch may take: what follows a failed or interrupted attempt, was given a pool or
 * goes before others has a run to itself. The statements of Postgres derive from it too.
 */
export const batchable = { attempt: 1, queue: 'default', pool: null, priority: 0 } as const satisfies Partial<Job>;

type Known = Partial<Pick<Job, 'type' | keyof typeof batchable>>;

/** Whether a batch may take a waiting job, as far as what is known of it says. */
export function isBatchable({ type, ...known }: Known): boolean {
  const fields = Object.entries(batchable) as [keyof typeof batchable, unknown][];
  return (
    (type === undefined || batchTypes.includes(type)) &&
    fields.every(([name, value]) => known[name] === undefined || known[name] === value)
  );
}
