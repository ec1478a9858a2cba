import { isBackground, type Taken, type WaitingKey } from '#domain/jobs/turns.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { activeStatuses, type JobPhase } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { ticketColumns, ticketOfRow, type TicketRow } from './job-row.ts';

/** An attempt, as it is counted for its key. */
export interface CountedAttempt extends Taken {
  readonly id: string;
  readonly attempt: number;
  readonly pool: string;
  readonly isBackground: boolean;
}

/** A key whose jobs wait in a pool, with the ticket of the first one. */
export interface QueuedKey extends WaitingKey {
  readonly ticket: Ticket;
}

/** The times that the row has of an attempt that has ended; null: it has none. */
interface EndedAttempt extends Pick<CountedAttempt, 'id' | 'attempt'> {
  readonly seconds: number | null;
  /** Processor seconds. */
  readonly measured: number | null;
}

/** The state of a pool from which turns are taken. */
export interface PoolLook {
  readonly waiting: readonly QueuedKey[];
  /** The attempts that the owner has, in every pool, with the time since their claims; null: it is suspended. */
  readonly running: readonly (Omit<CountedAttempt, 'seconds'> & { readonly seconds: number | null })[];
  /** Those of the known attempts that have ended. */
  readonly ended: readonly EndedAttempt[];
}

interface LookRow extends TicketRow {
  readonly kind: 'waiting' | 'running' | 'ended';
  readonly key: string;
  readonly weight: number;
  readonly slots: string;
  readonly seconds: number | null;
  readonly measured: number | null;
}

/** The slots that a job takes, of a row of `table`: an expression of the index jobs_turns, as the next one. */
export const poolOf = (table: string) => `coalesce(${table}.pool, replace(${table}.queue, ':', '-'))`;
/** Whose turn a job uses up. */
export const keyOf = (table: string) => `coalesce(${table}.key_id, '')`;
const [poolOfRow, keyOfRow] = [poolOf('jobs'), keyOf('jobs')];

/** The condition of jobs that may begin now. */
const mayBegin = `status in ('queued', 'processing') and lease_owner is null
  and coalesce(not_before, now()) <= now()
  and hash not in (select hash from media_deletions where lifted_at is null and finished_at is null)`;

/** The phases of claimed jobs that take no slot. */
const withoutSlot: readonly JobPhase[] = ['admitted', 'suspended'];

const firstOf = (condition: string) => `
  select ${ticketColumns}, ${keyOfRow} as key from jobs
  where ${poolOfRow} = $1 and ${mayBegin}${condition}
  order by ${keyOfRow}, priority desc, created_at limit 1`;
const secondsOf = `extract(epoch from (entry ->> 'ended_at')::timestamptz - (entry ->> 'claimed_at')::timestamptz)`;
// The index is entered once for each key, whatever waits behind its first job.
const look = `
  with recursive first as (
    (${firstOf('')})
    union all
    select following.* from first cross join lateral (${firstOf(` and ${keyOfRow} > first.key`)}) as following
  ), counted as (
    select 'waiting' as kind, id, attempt, queue, pool, priority, key_id, trace, key, $1 as slots,
      null::float8 as seconds, null::float8 as measured
    from first
    union all
    select 'running', id, attempt, queue, pool, priority, key_id, null, ${keyOfRow}, ${poolOfRow},
      case when phase = any($6) then null else greatest(0, extract(epoch from now() - claimed_at))::float8 end, null
    from jobs where lease_owner is not null and starts_with(lease_owner, $2) and status = any($3)
    union all
    select 'ended', jobs.id, known.attempt, queue, pool, priority, key_id, null, ${keyOfRow}, ${poolOfRow},
      ${secondsOf}::float8, (entry ->> 'processor_ms')::float8 / 1000
    from unnest($4::uuid[], $5::int[]) as known (id, attempt) join jobs on jobs.id = known.id
    left join lateral (
      select entry from jsonb_array_elements(ended_attempts) as entries (entry)
      where (entry ->> 'attempt')::int = known.attempt limit 1
    ) as entries on true
    where jobs.attempt <> known.attempt or lease_owner is null
  )
  select counted.*, coalesce(weight, 1) as weight from counted left join api_keys on api_keys.id = key`;

/** Whose attempts are counted, and which of them may have ended. */
export interface Counted {
  /** Begins their lease owners. */
  readonly owner: string;
  readonly known: readonly Pick<CountedAttempt, 'id' | 'attempt'>[];
}

/** Who waits in a pool, and what became of attempts: what turns are made of (domain/jobs/turns.ts). */
export async function lookAtPool(database: Database, pool: string, { owner, known }: Counted): Promise<PoolLook> {
  const { rows } = await database.pool.query<LookRow>(look, [
    pool,
    owner,
    activeStatuses,
    known.map(({ id }) => id),
    known.map(({ attempt }) => attempt),
    withoutSlot,
  ]);
  const ofKind = (kind: LookRow['kind']) => rows.filter((row) => row.kind === kind);
  return {
    waiting: ofKind('waiting').map((row) => ({
      key: row.key,
      weight: row.weight,
      isBackground: isBackground(row.priority),
      ticket: ticketOfRow(row),
    })),
    running: ofKind('running').map(({ id, attempt, slots, key, weight, priority, seconds }) => {
      return { id, attempt, pool: slots, key, weight, isBackground: isBackground(priority), seconds };
    }),
    ended: ofKind('ended').map(({ id, attempt, seconds, measured }) => ({ id, attempt, seconds, measured })),
  };
}
