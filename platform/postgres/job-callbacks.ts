import { activeStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';

/** The outcome of a further receiver: a job that has ended by then sends it nothing. */
export type CallbackAdded = 'added' | 'too_many' | 'ended';

/** Receivers of one job beside its first; each gets an event of its own. */
const additionalMax = 8;

// The end of the job takes the same lock, so a receiver is in its row or the job has ended.
const setFirst = `
  update jobs set callback_url = coalesce(callback_url, $2) where id = $1 and status = any($3)
  returning callback_url as url`;
const list = 'select url from job_callbacks where job_id = $1 order by id';
const insert = 'insert into job_callbacks (job_id, url) values ($1, $2)';

/** See `JobStore.addCallback`. */
export function addCallback(database: Database, jobId: string, url: string): Promise<CallbackAdded> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ url: string }>(setFirst, [jobId, url, activeStatuses]);
    if (rows[0] === undefined) return 'ended';
    if (rows[0].url === url) return 'added';
    const { rows: additional } = await client.query<{ url: string }>(list, [jobId]);
    if (additional.some((other) => other.url === url)) return 'added';
    if (additional.length >= additionalMax) return 'too_many';
    await client.query(insert, [jobId, url]);
    return 'added';
  });
}
