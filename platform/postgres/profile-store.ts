import type { ClusterProfile } from '#domain/media/cluster-profiles.ts';
import { CoalescedCalls } from '#platform/concurrency/coalesced-calls.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/**
 * The profiles that the cluster's MediaProfiles define. The leader copies them here, so that servers choose profiles
 * without access to the API server.
 */
export class ProfileStore {
  readonly #database: Database;
  readonly #reads: CoalescedCalls<null, readonly ClusterProfile[]>;

  constructor(database: Database) {
    this.#database = database;
    const run = async (calls: readonly null[]) => {
      const profiles = await this.#read();
      return calls.map(() => profiles);
    };
    this.#reads = new CoalescedCalls({ run, sizeMax: Infinity, atOnceMax: 1 });
  }

  /** By name; none without the executor `kubernetes`. The submissions of one moment share a read. */
  read(): Promise<readonly ClusterProfile[]> {
    return this.#reads.add(null);
  }

  async #read(): Promise<readonly ClusterProfile[]> {
    const { rows } = await this.#database.pool.query<{ profiles: ClusterProfile[] }>(
      'select profiles from cluster_profiles',
    );
    return rows[0]?.profiles ?? [];
  }

  /** Replaces them all at once. */
  async replace(profiles: readonly ClusterProfile[]): Promise<void> {
    await this.#database.pool.query(
      `insert into cluster_profiles (profiles) values ($1)
       on conflict (is_only) do update set profiles = excluded.profiles`,
      [toJson(profiles)],
    );
  }
}
