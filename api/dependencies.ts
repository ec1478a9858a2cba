import type { Config } from '#platform/config/config.ts';
import type { JobDependencies } from '#jobs/dependencies.ts';
import type { Database } from '#platform/postgres/database.ts';

/** What the surface `api` is made of. `main.ts` builds each of these and closes it after the server has stopped. */
export interface ApiDependencies extends Omit<JobDependencies, 'config'> {
  readonly config: JobDependencies['config'] & Pick<Config, 'apiKeys' | 'apiRateLimitPerMinute' | 'webhook'>;
  readonly database: Database;
}
