import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { JobType } from '#domain/job-types/index.ts';
import { places, type StepContext } from '../context.ts';
import { handlers } from '../handlers/index.ts';
import type { JobHandler } from '../handlers/job-handler.ts';

/** Makes what the job asks for out of the fetched source, and leaves it, with a word about it, in the workspace. */
export async function processSource(context: StepContext): Promise<void> {
  const { workspace, reporter, task } = context;
  reporter.phase('probing');
  // A step may be run again in the same workspace; what an earlier run left half done is in the way.
  await rm(workspace.at(places.made), { recursive: true, force: true });
  await rm(workspace.at(places.madeDocument), { force: true });
  await mkdir(workspace.at(places.made), { recursive: true });
  const handler: JobHandler<JobType> = handlers[task.type];
  const made = await handler.process(context);
  await writeFile(workspace.at(places.madeDocument), JSON.stringify(made));
}
