import type { StepContext } from '../context/step-context.ts';
import { packetsAtCommand, parsePacketTime } from '../tools/ffprobe.ts';
import { tryTool } from '../tools/try-tool.ts';
import type { VideoSource } from './examine-video.ts';

/** Frames that are shown at a time may be stored after later ones. */
const reorderedSecMax = 1;
/** Containers round times to a millisecond. */
const roundedSec = 0.001;
/** Containers without an index: seeking finds any packet near the time, and decoding begins with the next key frame. */
const containersWithoutIndex = ['mpegts', 'mpeg'];
/** How far back a key frame is searched in them. */
const stepsBackSec = [0, 2, 15, 120];
/** A key frame is stored before the time at which it is shown. */
const keyStoredSecMax = 0.5;

type Source = Pick<VideoSource, 'path' | 'container' | 'startSec' | 'video'>;

/**
 * Where to seek to, at `sec` or before, so that the frame is decoded that is shown at `sec`: a slide or a still screen
 * begins minutes before. Times in seconds from the start of the file; null where no packet shows it.
 */
export async function shownSince(source: Source, sec: number, context: StepContext): Promise<number | null> {
  for (const backSec of stepsBackSec) {
    const fromSec = Math.max(0, sec - backSec);
    const { keySec, shownSec } = await readPackets(source, { fromSec, sec }, context);
    if (keySec === null || shownSec === null) {
      if (fromSec === 0) return null;
      continue;
    }
    const isIndexed = !containersWithoutIndex.includes(source.container);
    // Seeking leaves out a frame whose time is rounded down.
    return Math.max(0, isIndexed ? shownSec - roundedSec : keySec - keyStoredSecMax);
  }
  return null;
}

/** The last key frame and the last frame that begin at `sec` or before, of those that seeking to `fromSec` finds. */
async function readPackets(
  { path, startSec, video: { streamIndex } }: Source,
  { fromSec, sec }: { fromSec: number; sec: number },
  context: StepContext,
): Promise<{ keySec: number | null; shownSec: number | null }> {
  const found: { keySec: number | null; shownSec: number | null } = { keySec: null, shownSec: null };
  const onStdoutLine = (line: string) => {
    const packet = parsePacketTime(line);
    if (packet === null || packet.isDiscarded) return;
    const timeSec = packet.timeSec - startSec;
    if (timeSec > sec + roundedSec) return;
    found.shownSec = Math.max(found.shownSec ?? timeSec, timeSec);
    if (packet.isKey) found.keySec = Math.max(found.keySec ?? timeSec, timeSec);
  };
  const at = {
    streamIndex,
    fromSec: fromSec === 0 ? null : startSec + fromSec,
    toSec: startSec + sec + reorderedSecMax,
  };
  await tryTool(packetsAtCommand(context.program('ffprobe'), path, at), { onStdoutLine, stdoutBytesMax: 0 }, context);
  return found;
}
