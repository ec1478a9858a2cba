import { isJobProblem } from '#domain/errors.ts';
import type { Command } from '#platform/commands/command.ts';
import type { CommandOutcome } from '#platform/commands/run-command.ts';
import type { StepContext } from '../context/step-context.ts';
import { runTool, type ToolRun } from './run-tool.ts';

const failure = { code: 'corrupt_input', message: 'A sample of the source cannot be decoded.' } as const;
/** A file without an index is read up to the place of the sample. */
const timeoutMs = 60_000;

/**
 * Runs a tool over a sample of the source. Null where the sample cannot be decoded or is not reached in a minute, since
 * only the encode shows how much of the source is damaged; lines that were printed before have been read.
 *
 * @throws KnownProblem `resource_exhausted`, or the reason of the context's signal
 */
export async function tryTool(
  command: Command,
  run: Pick<ToolRun, 'onStdoutLine' | 'stdoutBytesMax'> & { readonly timeoutMs?: number },
  context: Pick<StepContext, 'signal' | 'log' | 'workspace'>,
): Promise<CommandOutcome | null> {
  try {
    return await runTool(command, { timeoutMs, failure, ...run }, context);
  } catch (error) {
    if (isJobProblem(error) && (error.code === failure.code || error.code === 'deadline_exceeded')) return null;
    throw error;
  }
}
