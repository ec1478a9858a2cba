import { DatabaseError, type PoolClient } from 'pg';
import { idempotencyKey, type IdempotentRequest, rerunPrefix } from '#domain/jobs/idempotency.ts';
import type { Job } from '#domain/jobs/job.ts';
import { liveStatuses } from '#domain/jobs/status.ts';

// Which of several completed jobs of one request answers equal submissions: the one whose stream is played, else the
// last. The others give their key up.

const playedOf = `
  select id, type, hash, source, options from jobs
  where hash = $1 and stream_rev is not null and replaced_at is null and status = 'completed'`;
const release = `
  update jobs set idempotency_key = 'replaced ' || id
  where idempotency_key = $1 and status = 'completed' and id <> $2`;
const take = `
  update jobs set idempotency_key = case
    when exists (
      select from jobs as other where other.idempotency_key = $2 and other.status = any($3) and other.id <> $1)
    then 'replaced ' || id else $2 end
  where id = $1`;
const giveUp = `update jobs set idempotency_key = 'replaced ' || id where id = $1`;
const requestOf = `select type, hash, source, options from jobs where id = $1 and status = 'completed'`;

const isOfDeleted = `
  status = 'completed'
  and exists (select from media_deletions where media_deletions.hash = jobs.hash and lifted_at is null)`;
/** The condition under which a live job answers: the results of a deleted media are about to be removed. */
export const answersEqual = `not (${isOfDeleted})`;
const giveUpOfDeleted = `
  update jobs set idempotency_key = 'expired ' || id where idempotency_key = $1 and ${isOfDeleted}`;

type PlayedJob = IdempotentRequest & Pick<Job, 'id'>;

/** A unique violation of PostgreSQL. */
const uniqueViolation = '23505';

/**
 * In the transaction in which a job completes, under the lock of its hash where it made a stream: which job of the
 * request answers equal submissions from the commit on. The one whose stream is played, also where it had no key since
 * this one was active; else a rerun, in place of the completed job that did.
 */
export async function settleKeyOfCompleted(
  client: PoolClient,
  { id, hash }: Pick<Job, 'id' | 'hash'>,
  { ownKey, hasNewerStream }: { readonly ownKey: string; readonly hasNewerStream: boolean },
): Promise<void> {
  const isRerun = ownKey.startsWith(rerunPrefix);
  if (!isRerun && !hasNewerStream) return;
  const key = isRerun ? ownKey.slice(rerunPrefix.length) : ownKey;
  const played = hasNewerStream ? (await client.query<PlayedJob>(playedOf, [hash])).rows : [];
  const other = played.find((job) => idempotencyKey(job) === key);
  if (other !== undefined && isRerun) await client.query(giveUp, [id]);
  if (other !== undefined || isRerun) await takeKey(client, other?.id ?? id, key);
}

/** In the transaction that publishes an earlier stream again: its job answers equal submissions, if it completed. */
export async function takeKeyOfPublished(client: PoolClient, jobId: string): Promise<void> {
  const { rows } = await client.query<IdempotentRequest>(requestOf, [jobId]);
  if (rows[0] !== undefined) await takeKey(client, jobId, idempotencyKey(rows[0]));
}

/** Lets an equal submission make a new job, which waits, where the completed one is of a deleted media. */
export async function giveUpKeyOfDeleted(client: Pick<PoolClient, 'query'>, key: string): Promise<void> {
  await client.query(giveUpOfDeleted, [key]);
}

/** Where a submission made an active job meanwhile, that one goes on to answer equal ones. */
async function takeKey(client: PoolClient, jobId: string, key: string): Promise<void> {
  await client.query(release, [key, jobId]);
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
