import type { PoolClient } from 'pg';
import type { Job } from '#domain/jobs/job.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import {
  judgeQuotas,
  type KeyQuotas,
  quotaExceeded,
  quotaWait,
  quotaWaitingMax,
  type UsedQuota,
} from '#domain/keys/quotas.ts';
import type { Database } from './database.ts';
import { findEqual, insertOrFind } from './equal-inserts.ts';
import { holdJob } from './held-jobs.ts';
import type { NewJob } from './job-row.ts';
import { lockKey, quotaUse } from './quota-use.ts';

// Quotas of API keys. Jobs of one key are inserted one after another, on whichever server: each transaction counts what
// the ones before it made.

/** A job to insert, with the key that asks for it. */
export interface JobWithinQuotas {
  readonly newJob: NewJob;
  readonly keyId: string;
  readonly quotas: KeyQuotas;
}

/** A job of a key with quotas that was inserted, or found; `near`: quotas that are near their limits with it. */
export interface InsertedWithinQuotas {
  readonly job: Job;
  readonly isNew: boolean;
  readonly near?: readonly UsedQuota[];
}

/**
 * `JobStore.insertOrFind` for a key with quotas. An equal live job is no new one, and answers a key that has used up
 * its quotas too.
 *
 * @throws KnownProblem `rate_limited`
 */
export function insertWithinQuotas(
  database: Database,
  { newJob, keyId, quotas }: JobWithinQuotas,
): Promise<InsertedWithinQuotas> {
  return database.transaction(async (client) => {
    const { near, refusal, wait } = await lockQuotas(client, { keyId, quotas, jobs: 1 });
    if (refusal !== null) {
      const equal = await findEqual(client, newJob.idempotencyKey);
      if (equal === null) throw refusal;
      return { job: equal, isNew: false };
    }
    const { job, isNew } = await insertOrHold(client, newJob, wait);
    return isNew ? { job, isNew, near } : { job, isNew };
  });
}

/** Inserts a job, which waits for the quotas of its key if `wait` says why; or finds the equal one. */
export async function insertOrHold(
  client: PoolClient,
  newJob: NewJob,
  wait: WaitingReason | null,
): Promise<{ readonly job: Job; readonly isNew: boolean }> {
  const job = await insertOrFind(client, newJob);
  const isNew = job.id === newJob.id;
  return { job: isNew && wait !== null ? await holdJob(client, job, wait) : job, isNew };
}

/**
 * Makes other inserts of jobs of the key wait for the end of the transaction, and says whether the quotas allow so many
 * more jobs: a refusal, or why they have to wait.
 */
export async function lockQuotas(
  client: PoolClient,
  { keyId, quotas, jobs }: { readonly keyId: string; readonly quotas: KeyQuotas; readonly jobs: number },
): Promise<{
  readonly near: readonly UsedQuota[];
  readonly refusal: Error | null;
  readonly wait: WaitingReason | null;
}> {
  await lockKey(client, keyId);
  const found = await quotaUse(client, keyId);
  const { exceeded, near } = judgeQuotas(quotas, found, jobs);
  // Behind those that wait already, or these would never begin.
  if (exceeded.length === 0 && found.waiting === 0) return { near, refusal: null, wait: null };
  const mayWait = exceeded.length === 0 || found.waiting + jobs <= quotaWaitingMax;
  if (quotas.when_reached === 'wait' && mayWait) return { near, refusal: null, wait: quotaWait(exceeded) };
  return { near, refusal: exceeded.length === 0 ? null : quotaExceeded(exceeded, found), wait: null };
}
