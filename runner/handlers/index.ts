import type { JobType } from '#domain/job-types/index.ts';
import type { JobHandler } from './job-handler.ts';

/**
 * Loads the handler of a job type: `handler` in the folder of the type's name, with `-` for `:`. A step loads only the
 * handler that it needs. `handlers.test.ts` loads the handler of every type.
 */
export async function loadHandler(type: JobType): Promise<JobHandler<JobType>> {
  const { handler } = (await import(`./${type.replace(':', '-')}/handler.ts`)) as { handler: JobHandler<JobType> };
  return handler;
}
