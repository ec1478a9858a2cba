import { valueOf } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { inputArgs, matrixArgs, quietArgs } from '../tools/ffmpeg.ts';
import { tryTool } from '../tools/try-tool.ts';
import type { FieldOrder, RefusedMatrix } from '../tools/video-filters.ts';
import type { ProbedVideo } from './video-stream.ts';

/**
 * By whether the file flags its video as interlaced: then frames without movement are expected. A frame of 1080 lines
 * costs 10 to 15 ms of processor time, most of it decoding.
 */
const framesSampled = { flagged: 30, unflagged: 15 } as const;
/** Where the samples begin, as shares of the video. */
const sampleShares = [0.1, 0.6];
/** Key frames are up to 10 s apart as a rule: in a shorter video both samples could begin at the same one. */
const nearSecMin = 15;
/** Interlaced video has 1080 lines at most (1088 as coded). */
const linesMax = 1088;
/**
 * Lines and frames a second of interlaced broadcast, camcorders and captures, with and without invisible lines. A
 * scaled video has no fields any more.
 */
const broadcastLines = [480, 486, 512, 576, 608, 1080, 1088];
const broadcastRates = [25, 30_000 / 1001];
/** Containers round rates; 30 frames a second are not 29.97. */
const sameRateWithin = 0.000_9;
const neverInterlaced = ['vp8', 'vp9', 'av1', 'mjpeg', 'gif', 'png', 'webp'];

interface FieldCount {
  readonly tff: number;
  readonly bff: number;
  readonly progressive: number;
}

/** Where a sample is taken. */
interface SamplePlace {
  readonly streamIndex: number;
  readonly fromSec: number;
  /** Whether it may begin at the key frame before: decoding up to a place costs more than the sample. */
  readonly isNear: boolean;
  readonly frames: number;
  readonly refusedMatrix: RefusedMatrix | null;
}

/** Runs `idet` over some frames and prints its counts, which are metadata of the frames. */
export function idetCommand(program: string, source: string, at: SamplePlace): Command {
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(source, at.fromSec, [...matrixArgs(at), ...(at.isNear ? ['-noaccurate_seek'] : [])]),
      '-map',
      `0:${at.streamIndex}`,
      '-frames:v',
      String(at.frames),
      '-vf',
      'idet,metadata=mode=print:file=-',
      '-f',
      'null',
      '-',
    ],
  };
}

/** The final counts in the stdout of `idetCommand`. */
export function parseIdet(stdout: string): FieldCount {
  const last = (kind: string) => {
    const found = stdout.matchAll(new RegExp(`lavfi\\.idet\\.multiple\\.${kind}=(\\d+(?:\\.\\d+)?)`, 'g'));
    return Number([...found].at(-1)?.[1] ?? 0);
  };
  return { tff: last('tff'), bff: last('bff'), progressive: last('progressive') };
}

/**
 * The least share of decided frames with one field order, by the file's flag; and the most of the other order, to it.
 */
const agreementMin = { flagged: 0.5, unflagged: 0.85 } as const;
const contradictionMax = 0.1;
const framesDecidedMin = 10;

/**
 * The field order by the counts. Real fields agree with each other, while moving edges of drawings look like fields of
 * either order. Where most frames have no movement, the file's flag decides; without it nearly every frame must show
 * the same order.
 */
export function fieldOrderOf(counts: readonly FieldCount[], isFlagged: boolean): FieldOrder {
  const sum = (kind: keyof FieldCount) => counts.reduce((total, count) => total + count[kind], 0);
  const decided = sum('tff') + sum('bff') + sum('progressive');
  const [order, other] = sum('bff') > sum('tff') ? (['bff', 'tff'] as const) : (['tff', 'bff'] as const);
  const agreement = sum(order) / Math.max(1, decided);
  const isInterlaced =
    decided >= framesDecidedMin &&
    agreement >= agreementMin[isFlagged ? 'flagged' : 'unflagged'] &&
    sum(other) <= sum(order) * contradictionMax;
  return isInterlaced ? order : 'progressive';
}

/**
 * Whether a video may be interlaced: by its flag, or by the lines and the rate of broadcast, since moving edges of
 * drawings of other sizes look like fields. HDR and the rotated clips of phones never are.
 */
export function mayBeInterlaced(
  video: Pick<ProbedVideo, 'codec' | 'isUpright' | 'hdr' | 'averageRate' | 'isFlaggedInterlaced' | 'stored'>,
): boolean {
  const lines = video.stored.height;
  if (neverInterlaced.includes(video.codec) || lines > linesMax) return false;
  if (video.isFlaggedInterlaced) return true;
  const rate = video.averageRate === null ? null : valueOf(video.averageRate);
  const isBroadcastRate =
    rate === null || broadcastRates.some((broadcast) => Math.abs(rate / broadcast - 1) < sameRateWithin);
  return isBroadcastRate && broadcastLines.includes(lines) && video.isUpright && video.hdr === 'none';
}

/** The field order of a video, from its frames and not from its flag alone (docs/reference/media.md, "Odd sources"). */
export async function detectInterlacing(video: ProbedVideo, endSec: number, context: StepContext): Promise<FieldOrder> {
  if (!mayBeInterlaced(video)) return 'progressive';
  const frames = framesSampled[video.isFlaggedInterlaced ? 'flagged' : 'unflagged'];
  const { streamIndex, refusedMatrix } = video;
  const place = { streamIndex, isNear: endSec >= nearSecMin, frames, refusedMatrix };
  const samples = sampleShares.map((share) => countFields({ ...place, fromSec: endSec * share }, context));
  const counts = await Promise.all(samples);
  return fieldOrderOf(
    counts.filter((count) => count !== null),
    video.isFlaggedInterlaced,
  );
}

/** The counts of one sample; null where it cannot be decoded. */
async function countFields(at: SamplePlace, context: StepContext): Promise<FieldCount | null> {
  const command = idetCommand(context.program('ffmpeg'), workspaceFiles.source, at);
  const outcome = await tryTool(command, {}, context);
  return outcome === null ? null : parseIdet(outcome.stdout);
}
