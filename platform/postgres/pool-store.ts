import type { SlotsInUse } from '#domain/jobs/pool-queue.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/** What brings a RunnerPool back in a rebuilt cluster: all of one that was made by hand, the size of a scaled one. */
export interface ClusterPool {
  readonly name: string;
  readonly spec: RunnerPoolSpec;
}

/** The slots of a pool that one worker starts jobs in. */
export interface CountedSlots extends SlotsInUse {
  readonly pool: string;
}

// Rows of workers that have ended are removed by the others.
const recordSlots = `
  with ended as (
    delete from pool_slots where seen_at < now() - interval '1 minute' and not (owner = $1 and pool = any($2))
  )
  insert into pool_slots (owner, pool, used, total)
  select $1, * from unnest($2::text[], $3::int[], $4::int[])
  on conflict (pool, owner) do update set used = excluded.used, total = excluded.total, seen_at = now()`;

/** The slots of the pools, and a copy of what people did to the RunnerPools of the cluster, which the leader writes. */
export class PoolStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Records the slots that `owner` has just counted. */
  async recordSlots(owner: string, slots: readonly CountedSlots[]): Promise<void> {
    if (slots.length === 0) return;
    const columns = [slots.map(({ pool }) => pool), slots.map(({ used }) => used), slots.map(({ total }) => total)];
    await this.#database.pool.query(recordSlots, [owner, ...columns]);
  }

  /** By name. */
  async read(): Promise<readonly ClusterPool[]> {
    const { rows } = await this.#database.pool.query<{ pools: ClusterPool[] }>('select pools from cluster_pools');
    return rows[0]?.pools ?? [];
  }

  /** Replaces them all at once. */
  async replace(pools: readonly ClusterPool[]): Promise<void> {
    await this.#database.pool.query(
      `insert into cluster_pools (pools) values ($1) on conflict (is_only) do update set pools = excluded.pools`,
      [toJson(pools)],
    );
  }
}
