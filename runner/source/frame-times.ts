import { KnownProblem } from '#domain/errors.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { isEncryptedPacket, packetTimesCommand, parsePacketTime } from '../tools/ffprobe.ts';
import { probeTimeoutMs, runTool } from '../tools/run-tool.ts';
import { tryTool } from '../tools/try-tool.ts';
import { protectedProblem } from './ffprobe-document.ts';

/** When the frames of a video stream are shown, read from its packets. */
export interface FrameTimes {
  /** Presentation times in seconds of runs of neighbouring frames. */
  readonly runs: readonly (readonly number[])[];
  /** The end of the last frame in seconds from the first; null when only samples were read. */
  readonly countedEndSec: number | null;
}

const packetsSampled = 240;
/** A stream longer than twice this is sampled in the middle too, since its rate may change. */
const middleFromSec = 30;
/** The last frames of a run in storage order lack neighbours that are shown before them but stored after. */
const reorderedFramesMax = 16;
/** Demuxing reads the whole file from a disk that may be slow. */
const countTimeoutMs = 30 * 60_000;

const unreadable = { code: 'corrupt_input', message: 'The source is damaged: its packets cannot be read.' } as const;

/** Samples the frames' times; without an end in any header (null), reads all of them. */
export async function readFrameTimes(
  streamIndex: number,
  endSec: number | null,
  context: StepContext,
): Promise<FrameTimes> {
  if (endSec === null) return countFrames(streamIndex, context);
  const runs = [await sampleTimes(streamIndex, 0, context)];
  if (endSec > 2 * middleFromSec) runs.push(await sampleTimes(streamIndex, endSec / 2, context));
  return { runs, countedEndSec: null };
}

/** Empty where the source cannot be read from a later place: it may have no packets that late, or no index. */
async function sampleTimes(streamIndex: number, fromSec: number, context: StepContext): Promise<number[]> {
  const times: number[] = [];
  const interval = { streamIndex, fromSec, packetsMax: packetsSampled };
  const command = packetTimesCommand(context.program('ffprobe'), workspaceFiles.source, interval);
  const onStdoutLine = (line: string) => {
    refuseEncrypted(line);
    const packet = parsePacketTime(line);
    if (packet !== null) times.push(packet.timeSec);
  };
  if (fromSec === 0) await runTool(command, { timeoutMs: probeTimeoutMs, failure: unreadable, onStdoutLine }, context);
  else if ((await tryTool(command, { onStdoutLine }, context)) === null) return [];
  const reordered = times.length === packetsSampled ? reorderedFramesMax : 0;
  return times.toSorted((a, b) => a - b).slice(0, times.length - reordered);
}

function refuseEncrypted(line: string): void {
  if (isEncryptedPacket(line)) throw protectedProblem();
}

async function countFrames(streamIndex: number, context: StepContext): Promise<FrameTimes> {
  const first: number[] = [];
  let startSec = Number.POSITIVE_INFINITY;
  let endSec = 0;
  const interval = { streamIndex, fromSec: 0, packetsMax: null };
  const command = packetTimesCommand(context.program('ffprobe'), workspaceFiles.source, interval);
  const onStdoutLine = (line: string) => {
    refuseEncrypted(line);
    const packet = parsePacketTime(line);
    if (packet === null) return;
    if (first.length < packetsSampled) first.push(packet.timeSec);
    startSec = Math.min(startSec, packet.timeSec);
    endSec = Math.max(endSec, packet.timeSec + packet.durationSec);
  };
  await runTool(command, { timeoutMs: countTimeoutMs, failure: unreadable, onStdoutLine, stdoutBytesMax: 0 }, context);
  if (!Number.isFinite(startSec)) throw new KnownProblem(unreadable.code, unreadable.message);
  const sorted = first.toSorted((a, b) => a - b);
  return { runs: [sorted.slice(0, -reorderedFramesMax)], countedEndSec: Math.max(0, endSec - startSec) };
}
