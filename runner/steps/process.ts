import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { loadHandler } from '../handlers/index.ts';

/**
 * Runs the handler's `process` on the fetched source; its files and its return value stay in the workspace. The source
 * is deleted, since packaging needs as much space as the encoded tracks.
 */
export async function processSource(context: StepContext): Promise<void> {
  const { workspace, reporter, task } = context;
  if (await hasFile('finished', context)) return;
  reporter.phase('probing');
  // The step may run again in the same workspace. Removing the source is the last that a run does.
  if ((await hasFile('madeDocument', context)) && !(await hasFile('source', context))) return;
  // The run before was cut off.
  await rm(workspace.at(workspaceFiles.made), { recursive: true, force: true });
  await mkdir(workspace.at(workspaceFiles.made), { recursive: true });
  const handler = await loadHandler(task);
  const made = await handler.process(context);
  await writeFile(workspace.at(workspaceFiles.madeDocument), JSON.stringify(made));
  await rm(workspace.at(workspaceFiles.source), { force: true });
}

/** Whether the workspace has a file; `finished` is there when `fetch` found the unit finished. */
async function hasFile(file: keyof typeof workspaceFiles, { workspace }: StepContext): Promise<boolean> {
  return access(workspace.at(workspaceFiles[file])).then(
    () => true,
    () => false,
  );
}
