import { mkdir, rm, writeFile } from 'node:fs/promises';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { loadHandler } from '../handlers/index.ts';

/** Runs the handler's `process` on the fetched source; its files and its return value stay in the workspace. */
export async function processSource(context: StepContext): Promise<void> {
  const { workspace, reporter, task } = context;
  reporter.phase('probing');
  // The step may run again in the same workspace, after a run that was cut off.
  await rm(workspace.at(workspaceFiles.made), { recursive: true, force: true });
  await mkdir(workspace.at(workspaceFiles.made), { recursive: true });
  const handler = await loadHandler(task.type);
  const made = await handler.process(context);
  await writeFile(workspace.at(workspaceFiles.madeDocument), JSON.stringify(made));
}
