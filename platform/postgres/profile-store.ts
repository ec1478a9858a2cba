import type { ClusterProfile } from '#domain/media/cluster-profiles.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

/**
 * The profiles that the cluster's MediaProfiles define. The leader copies them here, so that servers choose profiles
 * without access to the API server.
 */
export class ProfileStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** By name; none without the executor `kubernetes`. */
  async read(): Promise<readonly ClusterProfile[]> {
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
