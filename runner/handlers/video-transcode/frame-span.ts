import { KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { framesIn, framesSec, type Grid, audioFramesFor } from '#domain/media/grid.ts';
import { packetSecMax, type PacketTotals } from '#domain/media/packet-timeline.ts';
import { valueOf } from '#domain/media/rational.ts';
import type { PacketScan } from '../../source/packet-scan.ts';
import type { StatedLength, VideoSource } from '../../source/examine-video.ts';

/** The frames to encode. */
export interface FrameSpan {
  readonly frames: number;
  /** How many of them repeat the last one, for its own duration or while the audio goes on. */
  readonly heldFrames: number;
  /** The length of the source, by its packets. */
  readonly durationSec: number;
  readonly missing: Missing;
}

/** How much shorter a source is than its header states. */
interface Missing {
  readonly sec: number;
  readonly share: number;
}

/** A stream that lacks more of its stated length is damaged (docs/reference/media.md, "Odd sources"). */
const missingShareMax = 0.02;
/** In a short source, a frame or two are a matter of rounding. */
const missingFramesIgnored = 2;
/** A container may count from the first packet of any track, and to the end of the last. */
const missingSecIgnored = 0.1;
/** Audio that outlasts the video by more than this plays to its end, over the last frame. */
const overhangSecMin = 0.1;
/** Where a container does not state how long the last frame lasts, it may be this much longer than any before. */
const lastFrameRatioMax = 2;

type Measured = Pick<VideoSource, 'stated'> & { readonly video: Pick<VideoSource['video'], 'rate'> };

/**
 * Plans which frames a source gets, from its packets: a header may state any length.
 *
 * @throws KnownProblem `corrupt_input` for a source with a gap in its timestamps
 */
export function planFrames({ video, stated }: Measured, packets: PacketTotals): FrameSpan {
  refuseGaps(packets);
  const framesEndSec = videoEnd(stated, packets);
  const lastIndex = Math.round(Math.max(0, packets.lastFrameSec) * valueOf(video.rate));
  const isOutlasted = packets.audioEndSec - framesEndSec > overhangSecMin;
  const endSec = isOutlasted ? packets.audioEndSec : framesEndSec;
  const frames = Math.max(lastIndex + 1, framesIn(endSec, video.rate));
  return {
    frames,
    heldFrames: frames - 1 - lastIndex,
    durationSec: Math.max(framesEndSec, packets.audioEndSec),
    missing: missingOf(stated, { videoSec: framesEndSec, fileSec: Math.max(framesEndSec, packets.audioEndSec) }),
  };
}

/**
 * Plans how many frames of a grid for audio an audio-only source gets, from its packets.
 *
 * @throws KnownProblem `corrupt_input` for a source with a gap in its timestamps
 */
export function planAudioFrames(
  { stated }: Pick<VideoSource, 'stated'>,
  packets: PacketTotals,
  grid: Grid,
): Pick<FrameSpan, 'frames' | 'missing'> {
  refuseGaps(packets);
  const { audioEndSec } = packets;
  return {
    frames: audioFramesFor(audioEndSec, grid),
    missing: missingOf(stated, { videoSec: 0, fileSec: audioEndSec }),
  };
}

function refuseGaps({ longestGapSec }: PacketTotals): void {
  if (longestGapSec <= packetSecMax) return;
  throw new KnownProblem('corrupt_input', `The source is damaged: its timestamps have a gap of ${longestGapSec} s.`);
}

/** When the last frame ends: by its packet, or by a header where that is not much longer than the frames before. */
function videoEnd(
  { videoSec, fileSec }: StatedLength,
  { lastFrameSec, framesEndSec, longestFrameSec }: PacketTotals,
): number {
  const packetsEndSec = Math.min(framesEndSec, lastFrameSec + packetSecMax);
  const statedSec = videoSec ?? fileSec;
  if (statedSec === null || statedSec <= packetsEndSec + missingSecIgnored) return packetsEndSec;
  const isLastFrame = statedSec - lastFrameSec <= Math.min(packetSecMax, longestFrameSec * lastFrameRatioMax);
  return isLastFrame ? statedSec : packetsEndSec;
}

/**
 * The length that the packets lack of the stated one. A file that states no length of its video may state its audio's.
 */
function missingOf(stated: StatedLength, ends: { readonly videoSec: number; readonly fileSec: number }): Missing {
  const [statedSec, endSec] =
    stated.videoSec === null ? [stated.fileSec ?? 0, ends.fileSec] : [stated.videoSec, ends.videoSec];
  const sec = statedSec - endSec;
  return sec > missingSecIgnored ? { sec, share: sec / statedSec } : { sec: 0, share: 0 };
}

/**
 * The warnings for a source that is shorter than its header states.
 *
 * @param isCutOff whether the file ends early, which alone makes it a damaged one
 * @throws KnownProblem `corrupt_input`
 */
export async function shorterWarnings({ missing }: Pick<FrameSpan, 'missing'>, isCutOff: () => Promise<boolean>) {
  if (missing.share > missingShareMax && (await isCutOff())) throw cutOff(missing.sec);
  return missing.share > missingShareMax / 2 ? [shorterThanStated] : [];
}

/** The warning for a source that begins long before its first key frame, as a cut broadcast does. */
export function beginWarnings({ framesBeforeKey }: Pick<PacketScan, 'framesBeforeKey'>): Warning[] {
  if (framesBeforeKey <= missingFramesIgnored) return [];
  const message = `${framesBeforeKey} frames at the start of the source come before its first key frame and cannot be decoded; the first one that can is shown for them.`;
  return [{ code: 'damaged_frames', message }];
}

/** Recordings of broadcasts begin with video whose audio is sent later. */
const lateSecIgnored = 1;

/**
 * The warnings for audio streams that do not cover the video: their tracks are silent for the rest. Less than a frame,
 * or than containers lose by rounding, does not count.
 */
export function silentWarnings(
  { video }: Pick<Measured, 'video'>,
  { framesEndSec, audioSpans }: Pick<PacketScan, 'framesEndSec' | 'audioSpans'>,
): Warning[] {
  const ignoredSec = Math.max(missingSecIgnored, 1 / valueOf(video.rate));
  return [...audioSpans].flatMap(([streamIndex, { fromSec, toSec }]) => {
    if (fromSec <= lateSecIgnored && framesEndSec - toSec <= ignoredSec) return [];
    const [from, to, end] = [fromSec, toSec, framesEndSec].map((sec) => Math.max(0, sec).toFixed(2));
    const message = `Audio stream ${streamIndex} lasts from ${from} to ${to} s, the video to ${end} s; the rest is silent.`;
    return [{ code: 'audio_shorter_than_video', message }];
  });
}

const shorterThanStated: Warning = {
  code: 'shorter_than_stated',
  message: 'The source ends before its container says.',
};

function cutOff(sec: number): KnownProblem {
  return new KnownProblem('corrupt_input', `The source is cut off: ${sec.toFixed(1)} s of it are missing.`);
}

/**
 * Compares the frames that were encoded with the plan.
 *
 * @throws KnownProblem `corrupt_input` when too many could not be decoded
 */
export function checkFrames(
  encoded: number,
  span: Pick<FrameSpan, 'frames'>,
  { video }: Pick<Measured, 'video'>,
): Warning[] {
  const missing = span.frames - encoded;
  if (missing <= missingFramesIgnored) return [];
  const share = missing / span.frames;
  if (share > missingShareMax) throw cutOff(framesSec(missing, video.rate));
  return share > missingShareMax / 2 ? [shorterThanStated] : [];
}
