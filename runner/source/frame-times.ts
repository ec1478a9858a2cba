import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { isEncryptedPacket, packetTimesCommand, type PacketTime, parsePacketTime } from '../tools/ffprobe.ts';
import { probeTimeoutMs, runTool } from '../tools/run-tool.ts';
import { tryTool } from '../tools/try-tool.ts';
import { protectedProblem } from './ffprobe-document.ts';

/** When some frames of a video stream are shown, read from its packets. */
export interface FrameTimes {
  /** Presentation times in seconds of runs of neighbouring frames, the first one from the start of the stream. */
  readonly runs: readonly (readonly number[])[];
  /** The packet with which decoding begins: the first key frame, else the first one; null without packets. */
  readonly first: FirstPacket | null;
}

interface FirstPacket {
  readonly timeSec: number;
  /** Whether it says when it is shown; AVI states no times at all. */
  readonly isTimed: boolean;
}

const packetsSampled = 240;
/** A stream longer than twice this is sampled in the middle too, since its rate may change. */
const middleFromSec = 30;
/** The last frames of a run in storage order lack neighbours that are shown before them but stored after. */
const reorderedFramesMax = 16;

const unreadable = { code: 'corrupt_input', message: 'The source is damaged: its packets cannot be read.' } as const;

/** Samples the times of a stream's frames, at its start alone where its end is unknown (null). */
export async function readFrameTimes(
  streamIndex: number,
  endSec: number | null,
  context: StepContext,
): Promise<FrameTimes> {
  const { times, first } = await sampleTimes(streamIndex, 0, context);
  if (endSec === null || endSec <= 2 * middleFromSec) return { runs: [times], first };
  return { runs: [times, (await sampleTimes(streamIndex, endSec / 2, context)).times], first };
}

/** Empty where the source cannot be read from a later place: it may have no packets that late, or no index. */
async function sampleTimes(
  streamIndex: number,
  fromSec: number,
  context: StepContext,
): Promise<{ times: number[]; first: FirstPacket | null }> {
  const times: number[] = [];
  let first: PacketTime | null = null;
  const interval = { streamIndex, fromSec, packetsMax: packetsSampled };
  const command = packetTimesCommand(context.program('ffprobe'), workspaceFiles.source, interval);
  const onStdoutLine = (line: string) => {
    if (isEncryptedPacket(line)) throw protectedProblem();
    const packet = parsePacketTime(line);
    if (packet === null) return;
    if (first === null || (packet.isKey && !first.isKey)) first = packet;
    times.push(packet.timeSec);
  };
  if (fromSec === 0) await runTool(command, { timeoutMs: probeTimeoutMs, failure: unreadable, onStdoutLine }, context);
  else if ((await tryTool(command, { onStdoutLine }, context)) === null) return { times: [], first };
  const reordered = times.length === packetsSampled ? reorderedFramesMax : 0;
  const shown = times.toSorted((a, b) => a - b).slice(0, times.length - reordered);
  return { times: shown, first };
}
