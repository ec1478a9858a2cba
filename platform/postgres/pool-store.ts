import { type QueueName, queueNames } from '#domain/jobs/routing.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { rolloutPriority } from '#domain/jobs/ticket.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/** The copy of a RunnerPool for a rebuilt cluster: all of one that was made by hand, the size of a scaled one. */
export interface ClusterPool {
  readonly name: string;
  readonly spec: RunnerPoolSpec;
}

/** Unclaimed jobs of one queue that name the same pool; null: none, so that their queue's pool runs them. */
export interface WaitingJobs {
  readonly pool: string | null;
  readonly queue: QueueName;
  /** The number of jobs; 0 for those without a pool, which are counted by their tickets. */
  readonly pending: number;
  readonly retry: number;
  /** The age of the oldest one, reruns of rollouts aside. */
  readonly oldestSeconds: number | null;
}

// Reruns of rollouts wait behind all others, for days where there is always another; jobs that wait for a quota of their
// key are not counted.
const waitingJobs = `
  select pool, queue,
    count(*) filter (where not_before is null or not_before <= now())::int as pending,
    count(*) filter (where not_before > now() and not_before < 'infinity')::int as retry,
    extract(epoch from now() - min(created_at) filter (where priority > $2
      and not_before is distinct from 'infinity'))::float8 as "oldestSeconds"
  from jobs where pool is not null and lease_owner is null and status in ('queued', 'processing')
  group by pool, queue
  union all
  select null, queue, 0, 0, extract(epoch from now() - created_at)::float8
  from unnest($1::text[]) as wanted (queue_name) cross join lateral (
    select queue, created_at from jobs
    where status in ('queued', 'processing') and lease_owner is null and queue = queue_name
      and pool is null and priority > $2 and not_before is distinct from 'infinity'
    order by created_at limit 1
  ) as oldest`;

/** The copy of the RunnerPools of the cluster. */
export interface PoolCopy {
  /** The pools that people made or scaled. */
  readonly pools: readonly ClusterPool[];
  /** The names of all. */
  readonly known: readonly string[];
}

/** A copy of the RunnerPools of the cluster; the leader writes it. */
export class PoolStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** By name. */
  async read(): Promise<PoolCopy> {
    const { rows } = await this.#database.pool.query<PoolCopy>('select pools, known from cluster_pools');
    return rows[0] ?? { pools: [], known: [] };
  }

  /** The jobs that wait, by pool. */
  async waitingJobs(): Promise<readonly WaitingJobs[]> {
    const { rows } = await this.#database.pool.query<WaitingJobs>(waitingJobs, [queueNames, rolloutPriority]);
    return rows;
  }

  /** Replaces them all at once. */
  async replace({ pools, known }: PoolCopy): Promise<void> {
    await this.#database.pool.query(
      `insert into cluster_pools (pools, known) values ($1, $2)
       on conflict (is_only) do update set pools = excluded.pools, known = excluded.known`,
      [toJson(pools), known],
    );
  }
}
