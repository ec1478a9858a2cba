import type { Job } from '#domain/jobs/job.ts';
import { activeStatuses, type JobPhase, type JobStatus, statusesBefore } from '#domain/jobs/status.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Database } from './database.ts';
import {
  type CurrentAttempt,
  jobColumns,
  type JobRow,
  jobOfRow,
  ticketColumns,
  ticketOfRow,
  type TicketRow,
} from './job-row.ts';

/** A lease: `owner` runs the attempt until `leaseMs` from now, unless it renews; `Infinity` never expires. */
export interface Lease extends CurrentAttempt {
  readonly owner: string;
  readonly leaseMs: number;
}

/** `lost`: another attempt has begun or the job ended otherwise. */
export type LeaseState = 'held' | 'lost' | 'cancelled';

/** What an attempt that runs reports. */
export interface AttemptReport extends CurrentAttempt {
  readonly phase: JobPhase;
  /** Percent. */
  readonly progress: number;
}

/** How an attempt that is given up makes way for the next one. */
export interface NextAttempt extends CurrentAttempt {
  /** Whether the attempt failed by itself. */
  readonly countsAsFailure: boolean;
  /** By default what does not count as a failure. False for what a job cannot help, such as an outage of the storage. */
  readonly countsAsDisruption?: boolean;
  readonly delayMs: number;
}

/** An interval of PostgreSQL from milliseconds; `Infinity` has no form in milliseconds. */
const leaseEnd = (parameter: string) =>
  `case when ${parameter}::float8 = 'infinity' then 'infinity'::timestamptz
        else now() + ${parameter}::float8 * interval '1 millisecond' end`;

const claim = `
  update jobs set status = 'processing', phase = 'scheduling', lease_owner = $3, lease_expires_at = ${leaseEnd('$4')},
    not_before = null, started_at = coalesce(started_at, now())
  where id = $1 and attempt = $2 and lease_owner is null and status = any($5)
  returning ${jobColumns}`;
const renew = `
  with renewed as (
    update jobs set lease_expires_at = ${leaseEnd('$4')}
    where id = $1 and attempt = $2 and lease_owner = $3 and status = any($5)
    returning id
  )
  select status, exists (select from renewed) as is_held from jobs where id = $1`;
// A report that arrives late or twice changes nothing.
const writeReport = `
  update jobs set phase = $3, progress = $4
  where id = $1 and attempt = $2 and status = 'processing' and progress <= $4
    and (phase is distinct from $3 or progress < $4)`;
const next = `
  update jobs set attempt = attempt + 1, failures = failures + $3, disruptions = disruptions + $6, progress = 0,
    phase = case when status = 'processing' then 'admitted' end,
    lease_owner = null, lease_expires_at = null,
    not_before = now() + $4 * interval '1 millisecond', ticketed_at = now() + $4 * interval '1 millisecond'
  where id = $1 and attempt = $2 and status = any($5)
  returning ${ticketColumns}`;
const release = `
  with lapsed as (
    select id from jobs where lease_owner is not null and lease_expires_at < coalesce($2, now()) and status = any($1)
    order by lease_expires_at limit 1000 for update skip locked
  )
  update jobs set attempt = attempt + 1, disruptions = disruptions + 1, progress = 0, phase = 'admitted', lease_owner = null,
    lease_expires_at = null, not_before = null, ticketed_at = now()
  from lapsed where jobs.id = lapsed.id
  returning ${ticketColumns}`;
const back = `
  update jobs set progress = 0, phase = case when status = 'processing' then 'admitted' end,
    lease_owner = null, lease_expires_at = null,
    not_before = now() + $3 * interval '1 millisecond', ticketed_at = now() + $3 * interval '1 millisecond'
  where id = $1 and attempt = $2 and lease_owner is not null and status = any($4)
  returning ${ticketColumns}`;
const lease = `
  select status, attempt = $2 and lease_owner is not distinct from $3 and status = any($4) as is_held
  from jobs where id = $1`;

/** See `JobStore.claim`. */
export async function claimAttempt(database: Database, { jobId, attempt, owner, leaseMs }: Lease): Promise<Job | null> {
  const parameters = [jobId, attempt, owner, leaseMs, activeStatuses];
  const { rows } = await database.pool.query<JobRow>(claim, parameters);
  return rows[0] === undefined ? null : jobOfRow(rows[0]);
}

/** See `JobStore.renewLease`. */
export async function renewLease(database: Database, { jobId, attempt, owner, leaseMs }: Lease): Promise<LeaseState> {
  const parameters = [jobId, attempt, owner, leaseMs, statusesBefore('completed')];
  const { rows } = await database.pool.query<LeaseRow>(renew, parameters);
  return leaseStateOf(rows[0]);
}

/** See `JobStore.leaseState`. */
export async function leaseState(
  database: Database,
  { jobId, attempt, owner }: Omit<Lease, 'leaseMs'>,
): Promise<LeaseState> {
  const parameters = [jobId, attempt, owner, statusesBefore('completed')];
  const { rows } = await database.pool.query<LeaseRow>(lease, parameters);
  return leaseStateOf(rows[0]);
}

interface LeaseRow {
  readonly status: JobStatus;
  readonly is_held: boolean;
}

function leaseStateOf(row: LeaseRow | undefined): LeaseState {
  if (row?.is_held === true) return 'held';
  return row?.status === 'cancelled' ? 'cancelled' : 'lost';
}

/** See `JobStore.giveBack`. */
export async function giveBack(
  database: Database,
  { jobId, attempt, delayMs }: CurrentAttempt & { readonly delayMs: number },
): Promise<Ticket | null> {
  const { rows } = await database.pool.query<TicketRow>(back, [jobId, attempt, delayMs, activeStatuses]);
  return rows[0] === undefined ? null : ticketOfRow(rows[0]);
}

/** See `JobStore.report`. */
export async function reportProgress(database: Database, report: AttemptReport): Promise<void> {
  const progress = Math.min(100, Math.max(0, Math.floor(report.progress)));
  await database.pool.query(writeReport, [report.jobId, report.attempt, report.phase, progress]);
}

/** See `JobStore.nextAttempt`. */
export async function nextAttempt(
  database: Database,
  { jobId, attempt, countsAsFailure, countsAsDisruption = !countsAsFailure, delayMs }: NextAttempt,
): Promise<Ticket | null> {
  const parameters = [jobId, attempt, Number(countsAsFailure), delayMs, activeStatuses, Number(countsAsDisruption)];
  const { rows } = await database.pool.query<TicketRow>(next, parameters);
  return rows[0] === undefined ? null : ticketOfRow(rows[0]);
}

/** See `JobStore.releaseLapsed`. */
export async function releaseLapsed(database: Database, now: Date | null): Promise<Ticket[]> {
  const { rows } = await database.pool.query<TicketRow>(release, [statusesBefore('completed'), now]);
  return rows.map(ticketOfRow);
}
