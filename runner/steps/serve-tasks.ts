import type { ServedTask, TaskEnd } from '#domain/work/warm-runner.ts';
import { steps } from '#domain/work/steps.ts';
import { workspaceIn } from '../context/step-context.ts';
import { type RunnerProcess, runTask } from './run-task.ts';

/**
 * Runs all steps of each task that `tasks` has, one after another, until there is none or the process must stop.
 */
export async function serveTasks(
  tasks: AsyncIterable<ServedTask>,
  onEnd: (end: TaskEnd) => void,
  runner: RunnerProcess,
): Promise<void> {
  for await (const { task, workspace } of tasks) {
    const exitCode = await runTask(() => ({ task, workspace: workspaceIn(workspace), steps }), runner);
    // Not waited for: a collector that is away must not delay the next task.
    void runner.tracing?.send();
    onEnd({ type: 'end', exit_code: exitCode, rss_bytes: process.memoryUsage.rss() });
    if (runner.signal.aborted) return;
  }
}
