import type { StepContext } from '../context/step-context.ts';
import { packetsAtCommand, parsePacketTime } from '../tools/ffprobe.ts';
import { tryTool } from '../tools/try-tool.ts';
import type { VideoSource } from './examine-video.ts';

/** Frames that are shown at a time may be stored after later ones. */
const reorderedSecMax = 1;
/** Containers round times to a millisecond. */
const roundedSec = 0.001;

/**
 * Since when the frame is shown that is shown at `sec`, by its packet, in seconds from the start of the file: a slide or
 * a still screen may be shown for minutes. Null where no frame is known to begin at `sec` or before.
 */
export async function shownSince(
  { path, startSec, video }: Pick<VideoSource, 'path' | 'startSec' | 'video'>,
  sec: number,
  context: StepContext,
): Promise<number | null> {
  const atSec = startSec + sec;
  let sinceSec: number | null = null;
  const onStdoutLine = (line: string) => {
    const packet = parsePacketTime(line);
    if (packet === null || packet.isDiscarded || packet.timeSec > atSec + roundedSec) return;
    sinceSec = Math.max(sinceSec ?? packet.timeSec, packet.timeSec);
  };
  const at = { streamIndex: video.streamIndex, fromSec: atSec, toSec: atSec + reorderedSecMax };
  await tryTool(packetsAtCommand(context.program('ffprobe'), path, at), { onStdoutLine, stdoutBytesMax: 0 }, context);
  return sinceSec === null ? null : Math.max(0, sinceSec - startSec);
}
