import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { fieldOf, frameTimesCommand } from '../tools/ffprobe.ts';
import { tryTool } from '../tools/try-tool.ts';

/** More than any decoder holds back. */
const packets = 32;

/**
 * How much later than its packet ffmpeg shows the first frame of a stream whose packets state no times, in seconds:
 * such a frame gets the time at which it leaves the decoder's reordering.
 */
export async function readDecodingDelay(
  { streamIndex, firstPacketSec }: { readonly streamIndex: number; readonly firstPacketSec: number },
  context: StepContext,
): Promise<number> {
  let firstSec: number | null = null;
  const onStdoutLine = (line: string) => {
    const sec = Number.parseFloat(fieldOf(line, 'best_effort_timestamp_time'));
    if (Number.isFinite(sec)) firstSec ??= sec;
  };
  const command = frameTimesCommand(context.program('ffprobe'), workspaceFiles.source, { streamIndex, packets });
  await tryTool(command, { onStdoutLine, stdoutBytesMax: 0 }, context);
  return firstSec === null ? 0 : Math.min(delaySecMax, Math.max(0, firstSec - firstPacketSec));
}
const delaySecMax = 2;
