import { DatabaseError } from 'pg';
import type { JobResults } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import type { JobError } from '#domain/job-error.ts';
import { progressWhenCompleted } from '#domain/jobs/progress.ts';
import {
  isFinal,
  type JobPhase,
  type JobStatus,
  jobStatuses,
  liveStatuses,
  statusesBefore,
} from '#domain/jobs/status.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { webhookBody } from '#domain/webhooks/event-body.ts';
import { Batches } from '../batches/batches.ts';
import type { Database } from './database.ts';
import {
  insertedColumns,
  insertedValues,
  jobColumns,
  type JobRow,
  jobOfRow,
  type NewJob,
  ticketColumns,
  ticketOfRow,
  type TicketRow,
  toJson,
} from './job-row.ts';
import { createRetries, type RetriesCreated } from './retries.ts';

export type { NewJob } from './job-row.ts';

/** The attempt of a job that a call is about. Once the row has a later attempt, the call changes nothing. */
interface CurrentAttempt {
  readonly jobId: string;
  readonly attempt: number;
}

/** A lease: `owner` runs the attempt, and is believed for `leaseMs` from now; `Infinity` never lapses. */
interface Lease extends CurrentAttempt {
  readonly owner: string;
  readonly leaseMs: number;
}

/** The end of a job, as `JobStore.finish` records it. */
export interface FinalState extends CurrentAttempt {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly results: JobResults | null;
  readonly error: JobError | null;
  /** Percent; by default what the type shows when completed, or what the job had reached. Never lowers it. */
  readonly progress?: number;
  /** UUID of the webhook event, if there is one to write. */
  readonly eventId: string;
  readonly now: Date;
}

const activeStatuses = jobStatuses.filter((status) => !isFinal(status));
/** An interval of PostgreSQL from milliseconds; `Infinity` has no form in milliseconds. */
const leaseEnd = (parameter: string) =>
  `case when ${parameter}::float8 = 'infinity' then 'infinity'::timestamptz
        else now() + ${parameter}::float8 * interval '1 millisecond' end`;

const sql = {
  // One statement for any number of jobs: the partial unique index decides. Rows that lost are looked up in the
  // statement's own snapshot. In the order of their keys, or two such statements could wait for each other.
  insertOrFind: `
    with given as (
      select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::json[], $6::text[], $7::text[],
        $8::bigint[], $9::text[], $10::text[], $11::uuid[], $12::json[]) as given (${insertedColumns})
    ), inserted as (
      insert into jobs (${insertedColumns}) select * from given order by idempotency_key
      on conflict (idempotency_key) where status not in ('failed', 'cancelled') do nothing
      returning ${jobColumns}, idempotency_key
    )
    select ${jobColumns}, idempotency_key from inserted
    union all
    select ${jobColumns}, idempotency_key from jobs where idempotency_key = any($6) and status = any($13)
      and not exists (select from inserted where inserted.idempotency_key = jobs.idempotency_key)`,
  find: `select ${jobColumns} from jobs where id = $1`,
  claim: `
    update jobs set status = 'processing', phase = 'scheduling', lease_owner = $3, lease_expires_at = ${leaseEnd('$4')},
      not_before = null, started_at = coalesce(started_at, now())
    where id = $1 and attempt = $2 and lease_owner is null and status = any($5)
    returning ${jobColumns}`,
  renewLease: `
    with renewed as (
      update jobs set lease_expires_at = ${leaseEnd('$4')}
      where id = $1 and attempt = $2 and lease_owner = $3 and status = any($5)
      returning id
    )
    select status, exists (select from renewed) as is_held from jobs where id = $1`,
  // A report that comes late, or twice, tells of less than is known.
  report: `
    update jobs set phase = $3, progress = $4
    where id = $1 and attempt = $2 and status = 'processing' and progress <= $4
      and (phase is distinct from $3 or progress < $4)`,
  lockForFinish: `select ${jobColumns} from jobs where id = $1 and attempt = $2 and status = any($3) for update`,
  finish: `
    update jobs set status = $2, results = $3, error = $4, progress = greatest(progress, $5), phase = null,
      callback_status = case when callback_url is not null and $2 <> 'cancelled' then 'pending' end,
      lease_owner = null, lease_expires_at = null, not_before = null, finished_at = $6
    where id = $1
    returning ${jobColumns}`,
  insertEvent: `
    insert into webhook_events (id, job_id, url, body, trace, next_attempt_at, created_at)
    values ($1, $2, $3, $4, $5, $6, $6)`,
  nextAttempt: `
    update jobs set attempt = attempt + 1, failures = failures + $3, progress = 0,
      phase = case when status = 'processing' then 'admitted' end,
      lease_owner = null, lease_expires_at = null,
      not_before = now() + $4 * interval '1 millisecond', ticketed_at = now() + $4 * interval '1 millisecond'
    where id = $1 and attempt = $2 and status = any($5)
    returning ${ticketColumns}`,
  releaseLapsed: `
    with lapsed as (
      select id from jobs where lease_owner is not null and lease_expires_at < $1 and status = any($2)
      order by lease_expires_at limit 1000 for update skip locked
    )
    update jobs set attempt = attempt + 1, progress = 0, phase = 'admitted', lease_owner = null,
      lease_expires_at = null, not_before = null, ticketed_at = now()
    from lapsed where jobs.id = lapsed.id
    returning jobs.id, attempt, queue, trace`,
  heldBy: `
    select id, queue, attempt, progress from jobs
    where lease_owner = $1 and status = any($2)`,
  countAtWork: `
    select queue, count(*)::int as jobs from jobs
    where lease_owner is not null and status = any($1) group by queue`,
  withoutTicket: `
    with waiting as (
      select id from jobs where status = any($1) and lease_owner is null
        and ticketed_at < now() - $2 * interval '1 millisecond'
      order by ticketed_at limit $3 for update skip locked
    )
    update jobs set ticketed_at = now() from waiting where jobs.id = waiting.id
    returning jobs.id, attempt, queue, trace`,
} as const;

/** Two, so that one is on its way while the other is answered; the pool has connections for everything else. */
const insertBatches = { sizeMax: 100, atOnceMax: 2 } as const;

type LiveJobs = (Job | null | Promise<Job | null>)[];

/** For each new job the live one of its idempotency key, itself or an earlier one; null when there is none any more. */
async function insertAll(database: Database, newJobs: readonly NewJob[]): Promise<LiveJobs> {
  const rowsOfValues = newJobs.map(insertedValues);
  const columns = rowsOfValues[0]?.map((_, column) => rowsOfValues.map((values) => values[column])) ?? [];
  try {
    const { rows } = await database.pool.query<JobRow & { idempotency_key: string }>(sql.insertOrFind, [
      ...columns,
      liveStatuses,
    ]);
    const found = new Map(rows.map((row) => [row.idempotency_key, jobOfRow(row)]));
    return newJobs.map(({ idempotencyKey }) => found.get(idempotencyKey) ?? null);
  } catch (error) {
    if (newJobs.length === 1 || !isAboutRows(error)) throw error;
    // What is wrong with one of them is no reason to refuse the others.
    return newJobs.map(async (newJob) => (await insertAll(database, [newJob]))[0] ?? null);
  }
}

/** Whether an error is about what was to be written (SQLSTATE classes 22 and 23), not about the server. */
function isAboutRows(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Jobs: the one truth about them.
 *
 * Every transition is guarded in SQL by the status table (`statusesBefore`) and by the attempt, so that a call that
 * comes late, twice, or from somebody who lost the job changes nothing and says so. Times are the database's own, so
 * that processes with different clocks agree; only `now` parameters are the caller's.
 */
export class JobStore {
  readonly #database: Database;
  readonly #inserts: Batches<NewJob, Job | null>;

  constructor(database: Database) {
    this.#database = database;
    this.#inserts = new Batches({ run: (newJobs) => insertAll(database, newJobs), ...insertBatches });
  }

  /**
   * The new job, or the live one that an equal submission made (section 2, "Idempotency key"; section 3). Of any number
   * of equal calls at once, one makes the row. Committed before it returns. Calls that come together share a statement.
   */
  async insertOrFind(newJob: NewJob): Promise<{ job: Job; isNew: boolean }> {
    // No row comes back when the equal one was committed after the statement began, or ended in between: look again.
    for (let tries = 0; tries < 100; tries++) {
      const job = await this.#inserts.add(newJob);
      if (job !== null) return { job, isNew: job.id === newJob.id };
    }
    throw new Error('equal jobs came and went too fast to find one');
  }

  /** The job; null when there is none, also for an id that is no UUID. */
  async find(id: string): Promise<Job | null> {
    if (!uuidPattern.test(id)) return null;
    const { rows } = await this.#database.pool.query<JobRow>(sql.find, [id]);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /**
   * Takes the attempt for `owner`: status `processing`, phase `scheduling`. Null when somebody holds it already (also
   * when that is `owner`), when it is no longer the current attempt, or when the job is over.
   */
  async claim(claim: Lease): Promise<Job | null> {
    const parameters = [claim.jobId, claim.attempt, claim.owner, claim.leaseMs, activeStatuses];
    const { rows } = await this.#database.pool.query<JobRow>(sql.claim, parameters);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /**
   * Puts the end of the lease `leaseMs` from now. `lost`: another attempt has begun or the job ended otherwise;
   * `cancelled`: the job was cancelled. In both cases `owner` must stop its work.
   */
  async renewLease(lease: Lease): Promise<'held' | 'lost' | 'cancelled'> {
    const { rows } = await this.#database.pool.query<{ status: JobStatus; is_held: boolean }>(sql.renewLease, [
      lease.jobId,
      lease.attempt,
      lease.owner,
      lease.leaseMs,
      statusesBefore('completed'),
    ]);
    if (rows[0]?.is_held === true) return 'held';
    return rows[0]?.status === 'cancelled' ? 'cancelled' : 'lost';
  }

  /** Notes where the attempt is. Progress (percent) never falls within an attempt; a report that would lower it is dropped. */
  async report(report: CurrentAttempt & { readonly phase: JobPhase; readonly progress: number }): Promise<void> {
    const progress = Math.min(100, Math.max(0, Math.floor(report.progress)));
    await this.#database.pool.query(sql.report, [report.jobId, report.attempt, report.phase, progress]);
  }

  /**
   * Ends the job, and writes its webhook event in the same transaction when it has a `callback_url` and "completes or
   * fails" (section 6): whoever cancels a job knows of it. Null when the attempt is no longer the current one or the job
   * is over already: then nothing was written.
   */
  finish(final: FinalState): Promise<Job | null> {
    return this.#database.transaction(async (client) => {
      const guard = [final.jobId, final.attempt, statusesBefore(final.status)];
      const { rows: before } = await client.query<JobRow>(sql.lockForFinish, guard);
      if (before[0] === undefined) return null;
      const ownProgress = final.status === 'completed' ? progressWhenCompleted(before[0].type) : 0;
      const { rows } = await client.query<JobRow>(sql.finish, [
        final.jobId,
        final.status,
        toJson(final.results),
        toJson(final.error),
        final.progress ?? ownProgress,
        final.now,
      ]);
      const job = jobOfRow(rows[0] as JobRow);
      if (job.callbackUrl !== null && job.status !== 'cancelled') {
        const body = webhookBody(job, { eventId: final.eventId, occurredAt: final.now });
        const event = [final.eventId, job.id, job.callbackUrl, body, toJson(job.trace), final.now];
        await client.query(sql.insertEvent, event);
      }
      return job;
    });
  }

  /**
   * Gives the attempt up and makes the next one the current, which nobody holds and which may begin in `delayMs`. The
   * caller adds the ticket; when it dies before, the sweeper does. Null when the attempt is not the current one.
   */
  async nextAttempt(
    next: CurrentAttempt & { readonly countsAsFailure: boolean; readonly delayMs: number },
  ): Promise<Ticket | null> {
    const parameters = [next.jobId, next.attempt, next.countsAsFailure ? 1 : 0, next.delayMs, activeStatuses];
    const { rows } = await this.#database.pool.query<TicketRow>(sql.nextAttempt, parameters);
    return rows[0] === undefined ? null : ticketOfRow(rows[0]);
  }

  /**
   * Takes jobs from owners whose lease ended before `now` and makes their next attempt the current one: the tickets, at
   * most 1000 at once. A lapsed lease is no failure of the job; `attempt - 1 - failures` counts such disruptions.
   */
  async releaseLapsed(now: Date): Promise<Ticket[]> {
    const { rows } = await this.#database.pool.query<TicketRow>(sql.releaseLapsed, [now, statusesBefore('completed')]);
    return rows.map(ticketOfRow);
  }

  /** Every active job that `owner` holds, with as much as a look over all of them needs; progress in percent. */
  async heldBy(owner: string): Promise<Pick<Job, 'id' | 'queue' | 'attempt' | 'progress'>[]> {
    const { rows } = await this.#database.pool.query<Pick<JobRow, 'id' | 'queue' | 'attempt' | 'progress'>>(
      sql.heldBy,
      [owner, activeStatuses],
    );
    return rows;
  }

  /** How many jobs of each queue somebody holds: those that run, or that a cluster was given to run. */
  async countAtWork(): Promise<Readonly<Record<QueueName, number>>> {
    const { rows } = await this.#database.pool.query<{ queue: QueueName; jobs: number }>(sql.countAtWork, [
      activeStatuses,
    ]);
    const jobsOf = (queue: QueueName) => rows.find((row) => row.queue === queue)?.jobs ?? 0;
    return { default: jobsOf('default'), 'video:large': jobsOf('video:large') };
  }

  /**
   * Tickets of active rows that nobody holds and whose ticket was added (or last given out here) more than
   * `olderThanMs` ago, the longest ago first. The queue ignores those that it still has, so they may all be added. Each
   * call moves the rows that it names to the end, so repeated calls go round all of them. Rows whose time has not come
   * are left out.
   */
  async withoutTicket(o: { readonly olderThanMs: number; readonly limit: number }): Promise<Ticket[]> {
    const parameters = [activeStatuses, o.olderThanMs, o.limit];
    const { rows } = await this.#database.pool.query<TicketRow>(sql.withoutTicket, parameters);
    return rows.map(ticketOfRow);
  }

  /**
   * Makes the jobs that retry a failed one (section 4, retry), in one transaction that locks its row. A live job that is
   * equal to one of them is taken instead of it, as for a submission, and keeps its own `retryOfJobId`. `retry_exists`:
   * a live retry of the failed job is there. `newJobs` may refuse by throwing `KnownProblem('not_retryable')`, whose
   * message becomes `reason`.
   */
  createRetries(o: {
    readonly jobId: string;
    readonly newJobs: (job: Job) => readonly NewJob[];
  }): Promise<RetriesCreated> {
    return uuidPattern.test(o.jobId) ? createRetries(this.#database, o) : Promise.resolve({ outcome: 'not_found' });
  }
}
