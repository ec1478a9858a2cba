import { rolloutPriority } from '#domain/jobs/ticket.ts';
import type { Database } from './database.ts';
import type { BegunItem } from './rollout-item-store.ts';
import { gaveWayMax, pauseAfter, slotsOf } from './rollout-row.ts';

// Unclaimed jobs, and those that a cluster was given and has no slot for. A reason that is written in the row is
// another one than a missing slot.
const wanted = `
  select slots, count(*)::int as jobs from (
    (select ${slotsOf} as slots from jobs
     where status in ('queued', 'processing') and lease_owner is null and priority > $1 and waiting_reason is null
       and coalesce(not_before, created_at) < now() - $2 * interval '1 millisecond'
       and hash not in (select hash from media_deletions where lifted_at is null and finished_at is null) limit 1000)
    union all
    (select ${slotsOf} from jobs
     where lease_owner is not null and status = 'processing' and phase = 'admitted' and priority > $1
       and waiting_reason is null and updated_at < now() - $2 * interval '1 millisecond' limit 1000)
  ) as waiting group by slots`;
const working = `
  select rollout_items.hash, job_id as "jobId" from rollout_items join jobs on jobs.id = job_id
  where rollout_id = $1 and rollout_items.status = 'running' and is_canary in (true, false)
    and ${slotsOf} = $2
    and jobs.lease_owner is not null and jobs.finished_at is null and jobs.phase is distinct from 'admitted'
    and gave_way < ${gaveWayMax}
  order by jobs.started_at desc limit $3`;
const giveWay = `
  update rollout_items set reason = 'gave_way', gave_way = gave_way + 1 where rollout_id = $1 and hash = $2 and status = 'running'`;

const givingWay = `
  select count(*)::int as jobs from rollout_items
  where rollout_id = $1 and status = 'planned' and is_canary in (true, false) and reason = 'gave_way'
    and due_at > now() + ${pauseAfter('gave_way')} - $2 * interval '1 millisecond'`;

/** Slots that submissions wait for, and the jobs of rollouts that hold them. */
export class RolloutSlotStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** How many jobs of higher priority have waited for a slot for `forMs`, by pool, or queue without one. */
  async waitingSubmissions(forMs: number): Promise<readonly { readonly slots: string; readonly jobs: number }[]> {
    const { rows } = await this.#database.pool.query<{ slots: string; jobs: number }>(wanted, [rolloutPriority, forMs]);
    return rows;
  }

  /** Jobs of the rollout that hold one of these slots, the youngest first. */
  async working(
    rolloutId: string,
    slots: string,
    limit: number,
  ): Promise<readonly Pick<BegunItem, 'hash' | 'jobId'>[]> {
    const { rows } = await this.#database.pool.query<BegunItem>(working, [rolloutId, slots, limit]);
    return rows;
  }

  /** Notes that the job of an item is about to be cancelled for a submission. */
  async noteGivingWay(rolloutId: string, hash: string): Promise<void> {
    await this.#database.pool.query(giveWay, [rolloutId, hash]);
  }

  /** How many jobs of the rollout gave way within `withinMs`. */
  async givingWay(rolloutId: string, withinMs: number): Promise<number> {
    const { rows } = await this.#database.pool.query<{ jobs: number }>(givingWay, [rolloutId, withinMs]);
    return rows[0]?.jobs ?? 0;
  }
}
