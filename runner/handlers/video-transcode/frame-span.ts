import { KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { framesIn, framesSec, type Grid, soundFramesFor } from '#domain/media/grid.ts';
import { packetSecMax, type PacketTotals } from '#domain/media/packet-timeline.ts';
import { valueOf } from '#domain/media/rational.ts';
import type { VideoSource } from '../../source/examine-video.ts';

/** The frames to encode. */
export interface FrameSpan {
  readonly frames: number;
  /** How many of them repeat the last picture, for its own duration or while the sound goes on. */
  readonly heldFrames: number;
  readonly warnings: readonly Warning[];
}

/** A stream that lacks more of its stated length is damaged (docs/media.md, "Odd sources"). */
const missingShareMax = 0.02;
/** In a short source, a frame or two are a matter of rounding. */
const missingFramesIgnored = 2;
/** A container may count from the first packet of any track, and to the end of the last. */
const missingSecIgnored = 0.1;
/** Sound that outlasts the picture by more than this is kept to its end, over the last picture. */
const overhangSecMin = 0.1;
/** Where a container does not state how long the last frame lasts, it may be this much longer than any before. */
const lastFrameRatioMax = 2;

type Measured = Pick<VideoSource, 'video' | 'isDurationStated'>;

/**
 * Plans which frames a source gets, from its packets: a header may state any length.
 *
 * @throws KnownProblem `corrupt_input` for a source that is cut off, or with a gap in its timestamps
 */
export function planFrames({ video, isDurationStated }: Measured, packets: PacketTotals): FrameSpan {
  refuseGaps(packets);
  const picture = pictureEnd(video.endSec, isDurationStated, packets);
  const lastIndex = Math.round(Math.max(0, packets.lastFrameSec) * valueOf(video.rate));
  const isOutlasted = packets.soundEndSec - picture.endSec > overhangSecMin;
  const endSec = isOutlasted ? packets.soundEndSec : picture.endSec;
  const frames = Math.max(lastIndex + 1, framesIn(endSec, video.rate));
  return { frames, heldFrames: frames - 1 - lastIndex, warnings: picture.warnings };
}

/**
 * Plans how many frames of a grid for sound an audio-only source gets, from its packets.
 *
 * @throws KnownProblem `corrupt_input` for a source that is cut off, or with a gap in its timestamps
 */
export function planSound(
  { durationSec, isDurationStated }: Pick<VideoSource, 'durationSec' | 'isDurationStated'>,
  packets: PacketTotals,
  grid: Grid,
): Pick<FrameSpan, 'frames' | 'warnings'> {
  refuseGaps(packets);
  const missingSec = durationSec - packets.soundEndSec;
  const isShort = isDurationStated && missingSec > missingSecIgnored;
  return {
    frames: soundFramesFor(packets.soundEndSec, grid),
    warnings: isShort ? missingWarnings(missingSec, missingSec / durationSec) : [],
  };
}

function refuseGaps({ longestGapSec }: PacketTotals): void {
  if (longestGapSec <= packetSecMax) return;
  throw new KnownProblem('corrupt_input', `The source is damaged: its timestamps have a gap of ${longestGapSec} s.`);
}

function pictureEnd(
  statedSec: number,
  isStated: boolean,
  { lastFrameSec, framesEndSec, longestFrameSec }: PacketTotals,
): { endSec: number; warnings: Warning[] } {
  const packetsEndSec = Math.min(framesEndSec, lastFrameSec + packetSecMax);
  if (!isStated || statedSec <= packetsEndSec + missingSecIgnored) return { endSec: packetsEndSec, warnings: [] };
  if (statedSec - lastFrameSec <= Math.min(packetSecMax, longestFrameSec * lastFrameRatioMax)) {
    return { endSec: statedSec, warnings: [] };
  }
  // The stated length may be that of a last frame which is held for `packetSecMax` at most.
  const missingSec = statedSec - framesEndSec;
  return { endSec: packetsEndSec, warnings: missingWarnings(missingSec, missingSec / statedSec) };
}

function missingWarnings(missingSec: number, missingShare: number): Warning[] {
  if (missingShare > missingShareMax) {
    const message = `The source is cut off: ${missingSec.toFixed(1)} s of it are missing.`;
    throw new KnownProblem('corrupt_input', message);
  }
  if (missingShare <= missingShareMax / 2) return [];
  return [{ code: 'shorter_than_stated', message: 'The source ends before its container says.' }];
}

/**
 * Compares the frames that were encoded with the plan.
 *
 * @throws KnownProblem `corrupt_input` when too many could not be decoded
 */
export function checkFrames(encoded: number, span: FrameSpan, { video }: Measured): Warning[] {
  const missing = span.frames - encoded;
  if (missing <= missingFramesIgnored) return [];
  return missingWarnings(framesSec(missing, video.rate), missing / span.frames);
}
