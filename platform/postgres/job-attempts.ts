import type { JobErrorCode } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { activeStatuses, type JobPhase, type JobStatus, statusesBefore, waitingPhases } from '#domain/jobs/status.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import { type UnitRun, workOf } from '#domain/work/unit-run.ts';
import type { Step } from '#domain/work/steps.ts';
import { type UsedTime, usedTimeOf } from '#domain/work/used-time.ts';
import { BatchRows } from './batch-rows.ts';
import { claimDue, claimText } from './due-work.ts';
import { endAssignments, endParameters, renewedMs } from './ended-attempts.ts';
import {
  type CurrentAttempt,
  jobColumns,
  type JobRow,
  jobOfRow,
  ticketColumns,
  ticketOfRow,
  type TicketRow,
  toJson,
} from './job-row.ts';
import { lockedInOrder } from './row-locks.ts';

/** A lease: `owner` runs the attempt until `leaseMs` from now, unless it renews; `Infinity` never expires. */
export interface Lease extends CurrentAttempt {
  readonly owner: string;
  readonly leaseMs: number;
  /** Of a renewal: what the attempt has used so far, which counts if nobody reports its end. */
  readonly used?: UsedTime | null;
}

/** `lost`: another attempt has begun or the job ended otherwise. */
export type LeaseState = 'held' | 'lost' | 'cancelled';

/** A report of an attempt that runs. */
export interface AttemptReport extends CurrentAttempt {
  readonly phase: JobPhase;
  /** Percent. */
  readonly progress: number;
}

/** How an attempt that is given up makes way for the next one. */
export interface NextAttempt extends CurrentAttempt {
  /** Whether the attempt failed by itself. */
  readonly countsAsFailure: boolean;
  /**
   * By default what does not count as a failure. False for what a job cannot help, such as an outage of the storage.
   */
  readonly countsAsDisruption?: boolean;
  readonly delayMs: number;
  /** The code of the error that the attempt failed by. */
  readonly code?: JobErrorCode | undefined;
  /** The units that the attempt ran. */
  readonly units?: readonly UnitRun[];
}

/** An interval of PostgreSQL from milliseconds; `Infinity` has no form in milliseconds. */
const leaseEnd = (parameter: string) =>
  `case when ${parameter}::float8 = 'infinity' then 'infinity'::timestamptz
        else now() + ${parameter}::float8 * interval '1 millisecond' end`;

const keepRuns = `
  insert into attempt_runs (job_id, attempt, pod, run)
  select $1, $2, run ->> 'pod', run from jsonb_array_elements($3::jsonb) as runs (run) where run ->> 'pod' is not null
  on conflict (job_id, attempt, pod) do update set run = excluded.run`;
const keptRuns = 'select run from attempt_runs where job_id = $1 and attempt = $2';

const claim = `
  update jobs set status = 'processing', phase = 'scheduling', lease_owner = $3, lease_expires_at = ${leaseEnd('$4')},
    not_before = null, waiting_reason = null, started_at = coalesce(started_at, now()), claimed_at = now()
  where id = $1 and attempt = $2 and lease_owner is null and status = any($5) and not_before is distinct from 'infinity'
    and not exists (select from media_deletions where hash = jobs.hash and lifted_at is null and finished_at is null)
  returning ${jobColumns}`;
const renew = `
  with renewed as (
    update jobs set lease_expires_at = ${leaseEnd('$4')}, attempt_used = coalesce($6::json, attempt_used)
    where id = $1 and attempt = $2 and lease_owner = $3 and status = any($5)
    returning id
  )
  select status, exists (select from renewed) as is_held from jobs where id = $1`;
// A report that arrives late or twice changes nothing.
const writeReport = `
  update jobs set phase = $3, progress = $4, waiting_reason = case when $3 = any($5) then waiting_reason end,
    encoding_since = case when $3 = 'encoding' then case when phase = $3 then encoding_since else now() end end,
    encoding_from = case when $3 = 'encoding' then case when phase = $3 then encoding_from else $4 end end,
    eta = case when $3 = 'encoding' and phase = $3 and $4 > encoding_from
      then now() + (now() - encoding_since) * greatest($6 - $4, 0) / ($4 - encoding_from) end
  where id = $1 and attempt = $2 and status = 'processing' and progress <= $4
    and (phase is distinct from $3 or progress < $4)`;
const waitsOtherwise = `
  id = any($1) and attempt = $2 and status = any($4) and waiting_reason::text is distinct from $3::text`;
const writeWaiting = `update jobs set waiting_reason = $3::json where ${lockedInOrder('jobs', waitsOtherwise)}`;
const next = `
  update jobs set attempt = attempt + 1, failures = failures + $3, disruptions = disruptions + $6, progress = 0,
    phase = case when status = 'processing' then 'admitted' end,
    lease_owner = null, lease_expires_at = null, waiting_reason = null,
    not_before = now() + $4 * interval '1 millisecond', ticketed_at = now() + $4 * interval '1 millisecond',
    ${endAssignments(7)}
  where id = $1 and attempt = $2 and status = any($5)
  returning ${ticketColumns}`;
/** As many leases as are released by one statement. */
export const lapsedAtOnce = 500;
const release = claimText('lapsed_lease', {
  set: `attempt = attempt + 1, disruptions = disruptions + 1, progress = 0, phase = 'admitted', lease_owner = null,
    lease_expires_at = null, waiting_reason = null, not_before = null, ticketed_at = now(), ${endAssignments(4)}`,
  returning: ticketColumns,
});
const back = `
  update jobs set progress = 0, phase = case when status = 'processing' then 'admitted' end,
    lease_owner = null, lease_expires_at = null, waiting_reason = null,
    not_before = now() + $3 * interval '1 millisecond', ticketed_at = now() + $3 * interval '1 millisecond',
    claimed_at = null
  where id = $1 and attempt = $2 and lease_owner is not null and status = any($4)
  returning ${ticketColumns}`;
const sinceRenewal = (step: Step) => `($4::json ->> '${step}')::bigint - (${renewedMs(step)})`;
const lease = `
  select status, attempt = $2 and lease_owner is not distinct from $3 and status = any($4) as is_held
  from jobs where id = $1`;
// Of the last attempt, whose end is recorded without its units: a second call finds them. What the last renewal of its
// lease recorded has been counted by its end, of a task of all steps as one of them: the whole grows, and a step may
// shrink. Its pod time is known already; naming it is what the trigger of the usage looks at.
const noteWork = `
  update jobs set
    ended_attempts = jsonb_set(ended_attempts, '{-1}', ended_attempts -> -1 || $3::jsonb),
    used_fetch_ms = used_fetch_ms + ${sinceRenewal('fetch')},
    used_process_ms = used_process_ms + ${sinceRenewal('process')},
    used_publish_ms = used_publish_ms + ${sinceRenewal('publish')}, used_pod_ms = used_pod_ms
  where id = $1 and status = 'cancelled' and (ended_attempts -> -1 ->> 'attempt')::int = $2
    and not ended_attempts -> -1 ? 'units'`;
const writeOutage = `
  insert into storage_outage (seen_at) values (now())
  on conflict (is_only) do update set seen_at = now()`;

/** Attempts of jobs: who runs which, what they report, and what follows them. See `JobStore` for the rules. */
export class AttemptStore extends BatchRows {
  /**
   * Claims the attempt for `owner`: status `processing`, phase `scheduling`. Null when it is claimed already (also by
   * `owner`), when it is no longer the current attempt, when the job is final, or while its media is being deleted.
   */
  async claim({ jobId, attempt, owner, leaseMs }: Lease): Promise<Job | null> {
    const parameters = [jobId, attempt, owner, leaseMs, activeStatuses];
    const { rows } = await this.database.pool.query<JobRow>(claim, parameters);
    return rows[0] === undefined ? null : jobOfRow(rows[0]);
  }

  /**
   * Moves the end of the lease to `leaseMs` from now. `lost`: another attempt has begun or the job ended otherwise;
   * `cancelled`: the job was cancelled. In both cases `owner` must stop its work.
   */
  async renewLease({ jobId, attempt, owner, leaseMs, used = null }: Lease): Promise<LeaseState> {
    const soFar = used === null ? null : toJson({ ...used, attempt });
    const parameters = [jobId, attempt, owner, leaseMs, statusesBefore('completed'), soFar];
    const { rows } = await this.database.pool.query<LeaseRow>(renew, parameters);
    return leaseStateOf(rows[0]);
  }

  /** Returns what `renewLease` would; writes nothing, so a cancellation can be looked for often. */
  async leaseState({ jobId, attempt, owner }: Omit<Lease, 'leaseMs'>): Promise<LeaseState> {
    const parameters = [jobId, attempt, owner, statusesBefore('completed')];
    const { rows } = await this.database.pool.query<LeaseRow>(lease, parameters);
    return leaseStateOf(rows[0]);
  }

  /**
   * Records phase and progress, and when the encoding will have ended. Progress never falls within an attempt; a report
   * that would lower it is dropped.
   */
  async report({ jobId, attempt, phase, progress }: AttemptReport): Promise<void> {
    const percent = Math.min(100, Math.max(0, Math.floor(progress)));
    const parameters = [jobId, attempt, phase, percent, waitingPhases, progressOf('encoding', 1)];
    await this.database.pool.query(writeReport, parameters);
  }

  /**
   * Records why the attempt waits, for callers; null: it does not. A claim, the next attempt, the end of the job and a
   * report of work remove the reason too.
   */
  async recordWaiting({ jobId, attempt }: CurrentAttempt, reason: WaitingReason | null): Promise<void> {
    await this.recordWaitingOf({ jobIds: [jobId], attempt }, reason);
  }

  /** Records why jobs that are all at the same attempt wait, as for a pod that they share. */
  async recordWaitingOf(
    { jobIds, attempt }: { readonly jobIds: readonly string[]; readonly attempt: number },
    reason: WaitingReason | null,
  ): Promise<void> {
    await this.database.pool.query(writeWaiting, [jobIds, attempt, toJson(reason), activeStatuses]);
  }

  /** Keeps what pods of an attempt ran, before they are deleted; a later report of a pod replaces the earlier one. */
  async keepRuns({ jobId, attempt }: CurrentAttempt, runs: readonly UnitRun[]): Promise<void> {
    await this.database.pool.query(keepRuns, [jobId, attempt, toJson(runs)]);
  }

  /** The kept runs of an attempt's units. */
  async keptRuns({ jobId, attempt }: CurrentAttempt): Promise<UnitRun[]> {
    const { rows } = await this.database.pool.query<{ run: UnitRun }>(keptRuns, [jobId, attempt]);
    return rows.map(({ run }) => run);
  }

  /** Adds what an attempt ran to its end that a cancellation has recorded; again it changes nothing. */
  async noteWorkOfCancelled({ jobId, attempt }: CurrentAttempt, units: readonly UnitRun[]): Promise<void> {
    const used = usedTimeOf(units);
    if (used === null) return;
    await this.database.pool.query(noteWork, [jobId, attempt, toJson(workOf(units)), toJson(used)]);
  }

  /** Records that the object storage does not answer; repeated every few seconds while that is so. */
  async recordStorageOutage(): Promise<void> {
    await this.database.pool.query(writeOutage);
  }

  /**
   * Ends the attempt and makes the next one current, unclaimed, to begin in `delayMs` at the earliest. The caller adds
   * the ticket; when it crashes before, the sweeper does. Null when the attempt is not the current one.
   */
  async nextAttempt(given: NextAttempt): Promise<Ticket | null> {
    const { jobId, attempt, countsAsFailure, countsAsDisruption = !countsAsFailure, delayMs, code, units } = given;
    const counts = [Number(countsAsFailure), delayMs, activeStatuses, Number(countsAsDisruption)];
    const ended = endParameters({ result: countsAsFailure ? 'retried' : 'disrupted', code, units });
    const { rows } = await this.database.pool.query<TicketRow>(next, [jobId, attempt, ...counts, ...ended]);
    return rows[0] === undefined ? null : ticketOfRow(rows[0]);
  }

  /**
   * Releases a claim whose work could not be started: the attempt is unclaimed again, to begin in `delayMs` at the
   * earliest, and no failure or disruption counts. The caller adds the ticket again once the queue has dropped the old
   * one, which has the same id. Null when the attempt is not the current one or not claimed.
   */
  async giveBack({ jobId, attempt, delayMs }: CurrentAttempt & { readonly delayMs: number }): Promise<Ticket | null> {
    const { rows } = await this.database.pool.query<TicketRow>(back, [jobId, attempt, delayMs, activeStatuses]);
    return rows[0] === undefined ? null : ticketOfRow(rows[0]);
  }

  /**
   * Releases jobs whose lease has ended and makes their next attempt the current one: the tickets, at most
   * `lapsedAtOnce`. A lapsed lease counts as a disruption. `now` is for tests; the database's clock by default.
   */
  async releaseLapsed(now: Date | null = null): Promise<Ticket[]> {
    const page = { limit: lapsedAtOnce, now };
    const rows = await claimDue<TicketRow>(this.database, release, page, ...endParameters({ result: 'disrupted' }));
    return rows.map(ticketOfRow);
  }
}

interface LeaseRow {
  readonly status: JobStatus;
  readonly is_held: boolean;
}

function leaseStateOf(row: LeaseRow | undefined): LeaseState {
  if (row?.is_held === true) return 'held';
  return row?.status === 'cancelled' ? 'cancelled' : 'lost';
}
