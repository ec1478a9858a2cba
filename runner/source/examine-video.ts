import { KnownProblem } from '#domain/errors.ts';
import type { SourceFound, Warning } from '#domain/job-types/shared-results.ts';
import { type FrameRatePlan, placeShiftSec, planFrameRate } from '#domain/media/frame-rate.ts';
import { languageTag } from '#domain/media/languages.ts';
import type { VideoCodec } from '#domain/media/profiles.ts';
import type { SubtitleSource } from '#domain/media/subtitle-plan.ts';
import { type Rational, valueOf } from '#domain/media/rational.ts';
import type { StepContext } from '../context/step-context.ts';
import { together } from '../context/together.ts';
import {
  canFilterInputs,
  canMapTones,
  codecsOf,
  hasDecoder,
  readAbilities,
  refuseMissingAbilities,
} from '../tools/abilities.ts';
import type { FieldOrder } from '../tools/video-filters.ts';
import type { ProbedAudio } from './audio-streams.ts';
import { readDecodingDelay } from './decoding-delay.ts';
import { type FrameTimes, readFrameTimes } from './frame-times.ts';
import { detectInterlacing } from './interlacing.ts';
import { atLargestSize } from './largest-frame.ts';
import { type PacketScan, scanPackets } from './packet-scan.ts';
import { probeSource } from './probe.ts';
import type { ProbedStreams } from './streams.ts';
import { type ProbedVideo, readVideoStream } from './video-stream.ts';

/** A source with a video stream that has been examined; times in seconds from the start of the file. */
export interface VideoSource {
  /** As tools get it. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly container: string;
  /** When its audio and video begin, in seconds of its own timestamps. */
  readonly startSec: number;
  readonly video: ProbedVideo & {
    readonly endSec: number;
    /** The frame rate of the stream, and that of the source by the times of its frames. */
    readonly rate: Rational;
    readonly sourceRate: Rational;
    /** Added to the time of every frame, so that it lies at a place of the stream's grid. */
    readonly shiftSec: number;
    /** Whether each frame belongs at the place after the one before it, however far its time is off. */
    readonly isScattered: boolean;
    readonly fieldOrder: FieldOrder;
    readonly toneMap: 'pq' | 'hlg' | null;
    readonly hasZscale: boolean;
  };
  /** That this ffmpeg can encode. */
  readonly usableCodecs: readonly VideoCodec[];
  readonly audio: readonly ProbedAudio[];
  readonly subtitles: readonly SubtitleSource[];
  readonly chapters: ProbedStreams['chapters'];
  readonly durationSec: number;
  readonly stated: StatedLength;
  /** All packets, where they had to be counted to know how long the source is; else null. */
  readonly packets: PacketScan | null;
  readonly warnings: readonly Warning[];
}

/** Lengths by the headers, in seconds from the start of the file, which may be wrong; null where they state none. */
export interface StatedLength {
  /** The length of the video, and of everything together. */
  readonly videoSec: number | null;
  readonly fileSec: number | null;
}

const durationSecMax = 12 * 3600;

/** Containers whose header states a length; the length of the others is estimated from the file. */
const containersWithLength = ['mov', 'matroska', 'avi', 'asf', 'flv', 'mxf', 'flac', 'webp'];

/** The length of a source as its header states it; null where there is none, or a nonsensical one. */
export function statedFileSec({ container, durationSec }: Pick<ProbedStreams, 'container' | 'durationSec'>) {
  return containersWithLength.includes(container) ? plausible(durationSec) : null;
}

/** All ones stand for an unknown length in some fragmented files: 12 hours or more are taken from the packets alone. */
function plausible(sec: number | null): number | null {
  return sec !== null && sec <= durationSecMax ? sec : null;
}

/**
 * Examines the downloaded source of a video job: headers, times of frames, and a few decoded samples.
 *
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `no_video_stream`, `limit_exceeded`, …
 */
export async function examineVideo(context: StepContext): Promise<VideoSource> {
  const [probed, abilities] = await Promise.all([probeSource(context), readAbilities(context)]);
  refuseMissingAbilities(abilities);
  const headers = await asDecodable(readVideoStream(probed), context);
  const fileSec = statedFileSec(probed);
  const statedSec = plausible(headers.endSec) ?? plausible(probed.durationSec);
  const packets = statedSec === null ? await scanPackets({ ...probed, video: headers }, context) : null;
  const endSec = packets?.framesEndSec ?? statedSec ?? 0;
  const { times, fieldOrder } = await sampleVideo(headers, endSec, context);
  const video = await atLargestSize(headers, { container: probed.container, endSec }, context);
  const plan = planFrameRate({ average: video.averageRate, runs: times.runs }, context.profile.frameRateMax);
  const durationSec = Math.max(endSec, ...probed.audio.map((audio) => plausible(audio.endSec) ?? 0));
  refuseTooLong(durationSec);
  const toneMap = (video.hdr === 'pq' || video.hdr === 'hlg') && canMapTones(abilities) ? video.hdr : null;
  return {
    path: probed.path,
    sizeBytes: probed.sizeBytes,
    container: probed.container,
    startSec: probed.startSec,
    video: {
      ...video,
      endSec,
      rate: plan.rate,
      sourceRate: plan.sourceRate,
      shiftSec: await shiftOf(times, { startSec: probed.startSec, rate: plan.rate, video }, context),
      isScattered: plan.isScattered,
      fieldOrder,
      toneMap,
      hasZscale: abilities.filters.has('zscale'),
    },
    usableCodecs: codecsOf(abilities),
    audio: probed.audio,
    subtitles: probed.subtitles,
    chapters: probed.chapters,
    durationSec,
    stated: { videoSec: fileSec === null ? null : plausible(headers.endSec), fileSec },
    packets,
    warnings: [...probed.warnings, ...videoWarnings(video, toneMap, plan)],
  };
}

/** Without what this ffmpeg cannot do: a filter of its input, which earlier ones do not need, and a decoder. */
async function asDecodable(video: ProbedVideo, context: StepContext): Promise<ProbedVideo> {
  const { refusedMatrix, decoder } = video;
  const isFiltered = (refusedMatrix?.bitstreamFilter ?? null) !== null;
  const canFilter = !isFiltered || (await canFilterInputs(context));
  const canRead = decoder === null || (await hasDecoder(decoder, context));
  return {
    ...video,
    ...(canFilter ? {} : { refusedMatrix: { bitstreamFilter: null } }),
    ...(canRead ? {} : { decoder: null, hasAlpha: false, pixelFormat: 'yuv420p' }),
  };
}

/** Reads samples of a video, both kinds at once. */
async function sampleVideo(
  video: ProbedVideo,
  endSec: number,
  context: StepContext,
): Promise<{ times: FrameTimes; fieldOrder: FieldOrder }> {
  const [times, fieldOrder] = await together(
    context,
    (part) => readFrameTimes(video.streamIndex, endSec, part),
    (part) => detectInterlacing(video, endSec, part),
  );
  return { times, fieldOrder };
}

/** The shift to add to the times of the decoded frames (`VideoSource.video.shiftSec`). */
async function shiftOf(
  { runs, first }: FrameTimes,
  { startSec, rate, video: { streamIndex } }: { startSec: number; rate: Rational; video: ProbedVideo },
  context: StepContext,
): Promise<number> {
  if (first === null) return 0;
  // Packets before the first key frame are never shown.
  const delaySec = first.isTimed ? 0 : await readDecodingDelay({ streamIndex, firstPacketSec: first.timeSec }, context);
  const fromStart = runs.flat().map((time) => time - startSec);
  return placeShiftSec(fromStart, rate) - delaySec;
}

/** @throws KnownProblem `limit_exceeded` */
export function refuseTooLong(durationSec: number): void {
  if (durationSec > durationSecMax) {
    throw new KnownProblem('limit_exceeded', `The source is longer than ${durationSecMax / 3600} hours.`);
  }
}

function videoWarnings(
  { hdr, matrix, refusedMatrix }: ProbedVideo,
  toneMap: 'pq' | 'hlg' | null,
  plan: FrameRatePlan,
): Warning[] {
  const warnings: Warning[] = [];
  if (toneMap === null && hdr !== 'none') {
    const message = 'The source is HDR, and this ffmpeg has no zscale to map it to SDR; its colours are off.';
    warnings.push({ code: 'hdr_not_mapped', message });
  }
  if (refusedMatrix !== null) {
    const message = `The color matrix that the source states cannot be used; it is read as ${matrix}.`;
    warnings.push({ code: 'color_matrix_ignored', message });
  }
  if (plan.isVariable) {
    const message = `The frame rate varies; the stream has a constant ${valueOf(plan.rate).toFixed(3)} frames a second.`;
    warnings.push({ code: 'variable_frame_rate', message });
  }
  return warnings;
}

/** The part of the results that describes the source. */
export function sourceFound({
  container,
  sizeBytes,
  durationSec,
  video,
  audio,
}: Pick<VideoSource, 'container' | 'sizeBytes' | 'durationSec' | 'audio'> & {
  readonly video: VideoSource['video'] | null;
}): SourceFound {
  return {
    container,
    size: sizeBytes,
    duration_sec: Number(durationSec.toFixed(3)),
    video: video === null ? null : videoFound(video),
    audio: audio.map(({ codec, channels, sampleRate, language }) => ({
      codec,
      channels,
      sample_rate: sampleRate,
      language: languageTag(language) ?? 'und',
    })),
  };
}

function videoFound(video: VideoSource['video']): SourceFound['video'] {
  return {
    codec: video.codec,
    width: video.width,
    height: video.height,
    frame_rate: Number(valueOf(video.rate).toFixed(3)),
    rotation: video.rotation,
    hdr: video.hdr,
    pixel_format: video.pixelFormat,
    interlaced: video.fieldOrder !== 'progressive',
  };
}
