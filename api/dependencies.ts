import type { Config } from '#platform/config/config.ts';
import type { JobDependencies } from '#jobs/dependencies.ts';
import type { Database } from '#platform/postgres/database.ts';

/** The dependencies of the surface `api`. `main.ts` builds each of them and closes it after the server has stopped. */
export interface ApiDependencies extends Omit<JobDependencies, 'config'> {
  readonly config: JobDependencies['config'] &
    Pick<Config, 'apiKeys' | 'apiRateLimitPerMinute' | 'webhookAllowedCidrs'>;
  readonly database: Database;
  /** For lists of jobs alone. */
  readonly listDatabase: Database;
}
