import type { Job } from '#domain/jobs/job.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import { activeStatuses } from '#domain/jobs/status.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Database } from './database.ts';
import {
  type AttemptReport,
  claimAttempt,
  giveBack,
  type Lease,
  leaseState,
  type LeaseState,
  nextAttempt,
  type NextAttempt,
  releaseLapsed,
  renewLease,
  reportProgress,
} from './job-attempts.ts';
import { finishJob, type FinalState } from './job-end.ts';
import { JobInserts } from './job-inserts.ts';
import {
  jobColumns,
  type JobRow,
  jobOfRow,
  type NewJob,
  ticketColumns,
  ticketOfRow,
  type TicketRow,
} from './job-row.ts';
import { createRetries, type RetriesCreated } from './retries.ts';

export type { FinalState } from './job-end.ts';
export type { NewJob } from './job-row.ts';

const find = `select ${jobColumns} from jobs where id = $1`;
const heldBy = `
  select id, queue, attempt, progress from jobs
  where lease_owner = $1 and status = any($2)`;
const statesOf = `select id, status, attempt, progress from jobs where id = any($1::uuid[])`;
const countAtWork = `
  select queue, count(*)::int as jobs from jobs
  where lease_owner is not null and status = any($1) group by queue`;
const withoutTicket = `
  with waiting as (
    select id from jobs where status = any($1) and lease_owner is null
      and ticketed_at < now() - $2 * interval '1 millisecond'
    order by ticketed_at limit $3 for update skip locked
  )
  update jobs set ticketed_at = now() from waiting where jobs.id = waiting.id
  returning ${ticketColumns}`;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Jobs and their attempts, the source of truth.
 *
 * Every transition is guarded in SQL by the status table (`statusesBefore`) and by the attempt, so a call that arrives
 * late, twice, or from a worker that lost the job changes nothing and returns so. Times are the database's, so
 * processes with different clocks agree.
 */
export class JobStore {
  readonly #database: Database;
  readonly #inserts: JobInserts;

  constructor(database: Database) {
    this.#database = database;
    this.#inserts = new JobInserts(database);
  }

  /**
   * The new job, or the live one that an equal submission made (docs/contract.md, "Idempotency"). Of any number of
   * equal calls at once, one makes the row. Committed before it returns.
   */
  insertOrFind(newJob: NewJob): Promise<{ job: Job; isNew: boolean }> {
    return this.#inserts.insertOrFind(newJob);
  }

  /** The job; null when there is none, also for an id that is no UUID. */
  async find(id: string): Promise<Job | null> {
    if (!uuidPattern.test(id)) return null;
    const { rows } = await this.#database.pool.query<JobRow>(find, [id]);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /**
   * Takes the attempt for `owner`: status `processing`, phase `scheduling`. Null when any worker holds it already (also
   * `owner` itself), when it is no longer the current attempt, or when the job is final.
   */
  claim(lease: Lease): Promise<Job | null> {
    return claimAttempt(this.#database, lease);
  }

  /**
   * Moves the end of the lease to `leaseMs` from now. `lost`: another attempt has begun or the job ended otherwise;
   * `cancelled`: the job was cancelled. In both cases `owner` must stop its work.
   */
  renewLease(lease: Lease): Promise<LeaseState> {
    return renewLease(this.#database, lease);
  }

  /** What `renewLease` would return; writes nothing, so a cancellation can be looked for often. */
  leaseState(lease: Omit<Lease, 'leaseMs'>): Promise<LeaseState> {
    return leaseState(this.#database, lease);
  }

  /** Records phase and progress. Progress never falls within an attempt; a report that would lower it is dropped. */
  report(report: AttemptReport): Promise<void> {
    return reportProgress(this.#database, report);
  }

  /**
   * Ends the job, and writes its webhook event in the same transaction when it has a `callback_url`; a cancelled job
   * has no event. Null when the attempt is no longer the current one or the job is final: then nothing was written and
   * `beforeCommit` did not run.
   */
  finish(final: FinalState): Promise<Job | null> {
    return finishJob(this.#database, final);
  }

  /**
   * Gives the attempt up and makes the next one the current, unclaimed, to begin in `delayMs` at the earliest. The
   * caller adds the ticket; when it crashes before, the sweeper does. Null when the attempt is not the current one.
   */
  nextAttempt(next: NextAttempt): Promise<Ticket | null> {
    return nextAttempt(this.#database, next);
  }

  /**
   * Gives a claim back whose work could not be started: the same attempt is unclaimed again, to begin in `delayMs` at
   * the earliest. It costs neither a failure nor a disruption. The caller adds the ticket again once the queue has
   * dropped the old one, which has the same id. Null when the attempt is not the current one or not claimed.
   */
  giveBack(claim: {
    readonly jobId: string;
    readonly attempt: number;
    readonly delayMs: number;
  }): Promise<Ticket | null> {
    return giveBack(this.#database, claim);
  }

  /**
   * Releases jobs whose lease has ended and makes their next attempt the current one: the tickets, at most 1000 at
   * once. A lapsed lease counts as a disruption. `now` is for tests; the database's clock by default.
   */
  releaseLapsed(now: Date | null = null): Promise<Ticket[]> {
    return releaseLapsed(this.#database, now);
  }

  /** Every active job that `owner` holds; progress in percent. */
  async heldBy(owner: string): Promise<Pick<Job, 'id' | 'queue' | 'attempt' | 'progress'>[]> {
    const { rows } = await this.#database.pool.query<Pick<JobRow, 'id' | 'queue' | 'attempt' | 'progress'>>(heldBy, [
      owner,
      activeStatuses,
    ]);
    return rows;
  }

  /** The state of each of these jobs; progress in percent. */
  async statesOf(ids: readonly string[]): Promise<Pick<Job, 'id' | 'status' | 'attempt' | 'progress'>[]> {
    const { rows } = await this.#database.pool.query<Pick<JobRow, 'id' | 'status' | 'attempt' | 'progress'>>(statesOf, [
      ids,
    ]);
    return rows;
  }

  /** The number of claimed jobs by queue: those that run, and those that a cluster was given to run. */
  async countAtWork(): Promise<Readonly<Record<QueueName, number>>> {
    const { rows } = await this.#database.pool.query<{ queue: QueueName; jobs: number }>(countAtWork, [activeStatuses]);
    const jobsOf = (queue: QueueName) => rows.find((row) => row.queue === queue)?.jobs ?? 0;
    return { default: jobsOf('default'), 'video:large': jobsOf('video:large') };
  }

  /**
   * Tickets of unclaimed active jobs whose ticket was added (or last returned here) more than `olderThanMs` ago, the
   * oldest first. The queue ignores those that it still has, so all may be added. Each call moves the rows that it
   * returns to the end, so repeated calls visit all of them. Jobs that must not begin yet are left out.
   */
  async withoutTicket(options: { readonly olderThanMs: number; readonly limit: number }): Promise<Ticket[]> {
    const parameters = [activeStatuses, options.olderThanMs, options.limit];
    const { rows } = await this.#database.pool.query<TicketRow>(withoutTicket, parameters);
    return rows.map(ticketOfRow);
  }

  /**
   * Makes the jobs that retry a failed one, in one transaction that locks its row. A live job that is equal to one of
   * them is returned instead of it, as for a submission, and keeps its own `retryOfJobId`. `retry_exists`: a live retry
   * of the failed job exists. `newJobs` may refuse by throwing `KnownProblem('not_retryable')`, whose message becomes
   * `reason`.
   */
  createRetries(retry: {
    readonly jobId: string;
    readonly newJobs: (job: Job) => readonly NewJob[];
  }): Promise<RetriesCreated> {
    return uuidPattern.test(retry.jobId)
      ? createRetries(this.#database, retry)
      : Promise.resolve({ outcome: 'not_found' });
  }
}
