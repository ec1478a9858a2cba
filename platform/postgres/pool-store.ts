import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/** What brings a RunnerPool back in a rebuilt cluster: all of one that was made by hand, the size of a scaled one. */
export interface ClusterPool {
  readonly name: string;
  readonly spec: RunnerPoolSpec;
}

/** A copy of what people did to the RunnerPools of the cluster; the leader writes it. */
export class PoolStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
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
