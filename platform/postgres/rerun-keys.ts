import { DatabaseError, type PoolClient } from 'pg';
import { rerunPrefix } from '#domain/jobs/idempotency.ts';
import { liveStatuses } from '#domain/jobs/status.ts';

const release = `
  update jobs set idempotency_key = 'replaced ' || id
  where idempotency_key = $1 and status = 'completed'`;
const take = `
  update jobs set idempotency_key = case
    when exists (select from jobs as other where other.idempotency_key = $2 and other.status = any($3))
    then 'replaced ' || id else $2 end
  where id = $1`;
const giveUp = `update jobs set idempotency_key = 'replaced ' || id where id = $1`;

/** A unique violation of PostgreSQL. */
const uniqueViolation = '23505';

/**
 * In the transaction in which a rerun completes: from its commit on the rerun answers equal submissions, in place of
 * the completed job that did. Where a submission made an active job meanwhile, that one goes on to answer them.
 */
export async function takeKeyOfRerun(client: PoolClient, jobId: string, idempotencyKey: string): Promise<void> {
  if (!idempotencyKey.startsWith(rerunPrefix)) return;
  const key = idempotencyKey.slice(rerunPrefix.length);
  await client.query(release, [key]);
  await client.query('savepoint before_key');
  try {
    await client.query(take, [jobId, key, liveStatuses]);
  } catch (error) {
    // An equal submission was accepted between the look and the write.
    if (!(error instanceof DatabaseError) || error.code !== uniqueViolation) throw error;
    await client.query('rollback to savepoint before_key');
    await client.query(giveUp, [jobId]);
  }
}
