import type { Job, ShownJob } from '#domain/jobs/job.ts';
import { type QueueName, queueNames } from '#domain/jobs/routing.ts';
import { activeStatuses, liveStatuses } from '#domain/jobs/status.ts';
import { rolloutPriority, type Ticket } from '#domain/jobs/ticket.ts';
import type { Database } from './database.ts';
import { describeByJob, type SaidByJob } from './descriptions.ts';
import { claimDue, claimText } from './due-work.ts';
import { usedColumn } from './ended-attempts.ts';
import { answersEqual } from './equal-keys.ts';
import { AttemptStore } from './job-attempts.ts';
import { finishJob, type FinalState } from './job-end.ts';
import { JobInserts } from './job-inserts.ts';
import {
  jobColumns,
  type JobRow,
  jobOfRow,
  type NewJob,
  shownColumns,
  ticketColumns,
  ticketOfRow,
  type TicketRow,
} from './job-row.ts';
import { addCallback, type CallbackAdded } from './job-callbacks.ts';
import type { InsertedWithinQuotas } from './quotas.ts';
import { createRetries, type RetriesCreated } from './retries.ts';
import { type Counted, lookAtPool, type PoolLook } from './turn-rows.ts';
import { releaseHeld } from './held-jobs.ts';
import { usageOfToday, type UsageRow, type UsedTimes } from './usage-store.ts';
import { isUuid } from './uuid.ts';

export type { FinalState } from './job-end.ts';
export type { NewJob } from './job-row.ts';

/** A job that an owner holds. */
type ClaimedRow = Pick<Job, 'id' | 'type' | 'queue' | 'pool' | 'priority' | 'attempt' | 'progress'>;

/** A job as callers see it, with the times of its ended attempts. */
export type FoundJob = ShownJob & { readonly used: UsedTimes };

const find = `select ${jobColumns} from jobs where id = $1`;
const findShown = `select ${shownColumns}, ${usedColumn} from jobs where id = $1`;
const findLive = `
  select ${jobColumns} from jobs where idempotency_key = $1 and status = any($2) and ${answersEqual}`;
const claimedBy = `
  select id, type, queue, pool, priority, attempt, progress from jobs
  where lease_owner = $1 and status = any($2)`;
// A short scan of the index jobs_backlog for each queue. With the index's own condition on the status beside this one,
// the planner expects a hundredth of the rows, and reads and sorts them all.
const waiting = `
  select ${jobColumns} from unnest($3::text[]) as wanted (queue_name) cross join lateral (
    select * from jobs
    where status = 'queued' and lease_owner is null and queue = queue_name
      and created_at < now() - $1 * interval '1 millisecond' and not_before is distinct from 'infinity'
    order by created_at limit $2
  ) as jobs order by created_at limit $2`;
const statesOf = `select id, status, attempt, progress from jobs where id = any($1::uuid[])`;
const countAtWork = `
  select queue, count(*)::int as jobs from jobs
  where lease_owner is not null and status = any($1) group by queue`;
// Reruns of rollouts wait behind all others, for days where there is always another; others for a quota of their key.
const oldestWaiting = `
  select queue, extract(epoch from now() - created_at)::float8 as seconds
  from unnest($1::text[]) as wanted (queue_name) cross join lateral (
    select queue, created_at from jobs
    where status in ('queued', 'processing') and lease_owner is null and queue = queue_name
      and priority > $2 and not_before is distinct from 'infinity'
    order by created_at limit 1
  ) as oldest`;
const withoutTicket = claimText('missing_ticket', { returning: ticketColumns });

/**
 * Jobs and their attempts, the source of truth.
 *
 * Every transition is guarded in SQL by the status table (`statusesBefore`) and by the attempt, so a late or repeated
 * call, or one of a worker that lost the job, changes nothing and says so. Times are the database's.
 */
export class JobStore extends AttemptStore {
  readonly #inserts: JobInserts;

  constructor(database: Database) {
    super(database);
    this.#inserts = new JobInserts(database);
  }

  /**
   * The new job, or the live one that an equal submission made (docs/reference/contract.md, "Idempotency"). One of
   * several concurrent equal calls makes the row. Committed before it returns.
   *
   * @throws KnownProblem `rate_limited` for a key that has used up a quota
   */
  insertOrFind(newJob: NewJob): Promise<InsertedWithinQuotas> {
    return this.#inserts.insertOrFind(newJob);
  }

  /** The job; null when there is none, also for an id that is no UUID. */
  async find(id: string): Promise<Job | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.database.pool.query<JobRow>(find, [id]);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /** Finds the job as callers see it; null when there is none, also for an id that is no UUID. */
  async findShown(id: string): Promise<FoundJob | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.database.pool.query<JobRow & Pick<FoundJob, 'used'>>(findShown, [id]);
    return rows[0] === undefined ? null : { ...jobOfRow(rows[0]), used: rows[0].used };
  }

  /** The live job of an idempotency key; null when there is none. Only a look ahead: `insertOrFind` decides. */
  async findLive(idempotencyKey: string): Promise<Job | null> {
    const { rows } = await this.database.pool.query<JobRow>(findLive, [idempotencyKey, liveStatuses]);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /**
   * Ends the job, and writes its webhook event in the same transaction when it has a `callback_url`; a cancelled job
   * has no event. Null when the attempt is no longer the current one or the job is final: then nothing was written and
   * `beforeCommit` did not run.
   */
  finish(final: FinalState): Promise<ShownJob | null> {
    return finishJob(this.database, final);
  }

  /**
   * Adds a receiver of the job's end while it is active: as its `callback_url` where it has none, else beside it, eight
   * at most. Adding it again changes nothing.
   */
  addCallback(jobId: string, url: string): Promise<CallbackAdded> {
    return addCallback(this.database, jobId, url);
  }

  /**
   * Describes the media of a job by what its submission says; nothing where the job has ended without results.
   * `isNew`: the submission made the job, and no equal one answered it.
   */
  describeMedia(said: SaidByJob): Promise<void> {
    return describeByJob(this.database, said);
  }

  /** Every active job that `owner` holds; progress in percent. */
  async claimedBy(owner: string): Promise<ClaimedRow[]> {
    const { rows } = await this.database.pool.query<ClaimedRow>(claimedBy, [owner, activeStatuses]);
    return rows;
  }

  /** At most `limit` jobs that have waited for their first attempt for `forMs`, the oldest first. */
  async waiting({ forMs, limit }: { readonly forMs: number; readonly limit: number }): Promise<Job[]> {
    const { rows } = await this.database.pool.query<JobRow>(waiting, [forMs, limit, queueNames]);
    return rows.map(jobOfRow);
  }

  /** Who waits in a pool, and what became of attempts. */
  lookAtPool(pool: string, counted: Counted): Promise<PoolLook> {
    return lookAtPool(this.database, pool, counted);
  }

  /** The state of each of these jobs; progress in percent. */
  async statesOf(ids: readonly string[]): Promise<Pick<Job, 'id' | 'status' | 'attempt' | 'progress'>[]> {
    const { rows } = await this.database.pool.query<Pick<JobRow, 'id' | 'status' | 'attempt' | 'progress'>>(statesOf, [
      ids,
    ]);
    return rows;
  }

  /** The number of claimed jobs by queue: those that run, and those that a cluster was given to run. */
  async countAtWork(): Promise<Readonly<Record<QueueName, number>>> {
    const { rows } = await this.database.pool.query<{ queue: QueueName; jobs: number }>(countAtWork, [activeStatuses]);
    const jobsOf = (queue: QueueName) => rows.find((row) => row.queue === queue)?.jobs ?? 0;
    return { default: jobsOf('default'), 'video:large': jobsOf('video:large') };
  }

  /** The age of the oldest unclaimed job of each queue but reruns of rollouts, in seconds; 0 without one. */
  async oldestWaitingSeconds(): Promise<Readonly<Record<QueueName, number>>> {
    const found = await this.database.pool.query<{ queue: QueueName; seconds: number }>(oldestWaiting, [
      queueNames,
      rolloutPriority,
    ]);
    const secondsOf = (queue: QueueName) => Math.max(0, found.rows.find((row) => row.queue === queue)?.seconds ?? 0);
    return { default: secondsOf('default'), 'video:large': secondsOf('video:large') };
  }

  /** The usage of this day so far, by type. */
  usageOfToday(): Promise<UsageRow[]> {
    return usageOfToday(this.database);
  }

  /** Releases jobs that wait for quotas of their keys as far as these allow now: their tickets (C37.22). */
  releaseHeld(): Promise<Ticket[]> {
    return releaseHeld(this.database);
  }

  /**
   * Tickets of unclaimed active jobs whose ticket was added (or last returned here) more than `olderThanMs` ago, the
   * oldest first, without jobs that must not begin yet. All may be added: the queue ignores tickets that it still has.
   * Each call moves the rows that it returns to the end, so repeated calls visit all of them.
   */
  async withoutTicket(options: { readonly olderThanMs: number; readonly limit: number }): Promise<Ticket[]> {
    const page = { limit: options.limit, delayMs: options.olderThanMs };
    return (await claimDue<TicketRow>(this.database, withoutTicket, page)).map(ticketOfRow);
  }

  /**
   * Makes the jobs that retry a failed one, in one transaction that locks its row. An equal live job is returned in
   * place of a new one, with its own `retryOfJobId`. `retry_exists`: a live retry of the failed job exists. `newJobs`
   * may throw `KnownProblem('not_retryable')`, whose message becomes `reason`.
   */
  createRetries(retry: {
    readonly jobId: string;
    readonly newJobs: (job: Job) => readonly NewJob[];
  }): Promise<RetriesCreated> {
    return isUuid(retry.jobId) ? createRetries(this.database, retry) : Promise.resolve({ outcome: 'not_found' });
  }
}
