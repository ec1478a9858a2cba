import { KnownProblem } from '#domain/errors.ts';
import type { SourceFound, Warning } from '#domain/job-types/shared-results.ts';
import { type FrameRatePlan, planFrameRate } from '#domain/media/frame-rate.ts';
import { languageTag } from '#domain/media/languages.ts';
import type { VideoCodec } from '#domain/media/profiles.ts';
import type { SubtitleSource } from '#domain/media/subtitle-plan.ts';
import { type Rational, valueOf } from '#domain/media/rational.ts';
import type { StepContext } from '../context/step-context.ts';
import { together } from '../context/together.ts';
import { canMapTones, codecsOf, readAbilities, refuseMissingAbilities } from '../tools/abilities.ts';
import type { FieldOrder } from '../tools/video-filters.ts';
import type { ProbedAudio } from './audio-streams.ts';
import { type FrameTimes, readFrameTimes } from './frame-times.ts';
import { detectInterlacing } from './interlacing.ts';
import { atLargestSize } from './largest-frame.ts';
import { probeSource } from './probe.ts';
import type { ProbedStreams } from './streams.ts';
import { type ProbedVideo, readVideoStream } from './video-stream.ts';

/** A source with a video stream that has been examined; times in seconds from the start of the file. */
export interface VideoSource {
  /** As tools get it. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly container: string;
  /** When the file begins, in seconds of its own timestamps. */
  readonly startSec: number;
  readonly video: ProbedVideo & {
    readonly endSec: number;
    readonly rate: Rational;
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
  /** Whether a header states the end, so that a shorter stream is damaged. */
  readonly isDurationStated: boolean;
  readonly warnings: readonly Warning[];
}

const durationSecMax = 12 * 3600;

/** Containers whose header states a length; the length of the others is estimated from the file. */
const containersWithLength = ['mov', 'matroska', 'avi', 'asf', 'flv', 'mxf', 'flac', 'webp'];

/** Whether the header of a container states how long a stream is. */
export function statesLength({ container }: Pick<ProbedStreams, 'container'>): boolean {
  return containersWithLength.includes(container);
}

/**
 * Examines the downloaded source of a video job: headers, times of frames, and a few decoded samples.
 *
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `no_video_stream`, `limit_exceeded`, …
 */
export async function examineVideo(context: StepContext): Promise<VideoSource> {
  const [probed, abilities] = await Promise.all([probeSource(context), readAbilities(context)]);
  refuseMissingAbilities(abilities);
  const headers = readVideoStream(probed);
  refuseTooLong(probed.durationSec ?? 0);
  const { times, endSec, fieldOrder } = await sampleVideo(headers, probed.durationSec, context);
  const video = await atLargestSize(headers, { container: probed.container, endSec }, context);
  const plan = planFrameRate({ average: video.averageRate, runs: times.runs }, context.profile.frameRateMax);
  const durationSec = Math.max(endSec, ...probed.audio.map((audio) => audio.endSec ?? 0));
  refuseTooLong(durationSec);
  const toneMap = (video.hdr === 'pq' || video.hdr === 'hlg') && canMapTones(abilities) ? video.hdr : null;
  return {
    path: probed.path,
    sizeBytes: probed.sizeBytes,
    container: probed.container,
    startSec: probed.startSec,
    video: { ...video, endSec, rate: plan.rate, fieldOrder, toneMap, hasZscale: abilities.filters.has('zscale') },
    usableCodecs: codecsOf(abilities),
    audio: probed.audio,
    subtitles: probed.subtitles,
    chapters: probed.chapters,
    durationSec,
    isDurationStated: statesLength(probed) && times.countedEndSec === null,
    warnings: [...probed.warnings, ...pictureWarnings(video, toneMap, plan)],
  };
}

/** Reads samples of a video: both kinds at once where a header says how long it is. */
async function sampleVideo(
  video: ProbedVideo,
  durationSec: number | null,
  context: StepContext,
): Promise<{ times: FrameTimes; endSec: number; fieldOrder: FieldOrder }> {
  const statedSec = video.endSec ?? durationSec;
  if (statedSec === null) {
    const times = await readFrameTimes(video.streamIndex, null, context);
    const endSec = times.countedEndSec ?? 0;
    return { times, endSec, fieldOrder: await detectInterlacing(video, endSec, context) };
  }
  const [times, fieldOrder] = await together(
    context,
    (part) => readFrameTimes(video.streamIndex, statedSec, part),
    (part) => detectInterlacing(video, statedSec, part),
  );
  return { times, endSec: statedSec, fieldOrder };
}

/** @throws KnownProblem `limit_exceeded` */
export function refuseTooLong(durationSec: number): void {
  if (durationSec > durationSecMax) {
    throw new KnownProblem('limit_exceeded', `The source is longer than ${durationSecMax / 3600} hours.`);
  }
}

function pictureWarnings({ hdr }: ProbedVideo, toneMap: 'pq' | 'hlg' | null, plan: FrameRatePlan): Warning[] {
  const warnings: Warning[] = [];
  if (toneMap === null && hdr !== 'none') {
    const message = 'The source is HDR, and this ffmpeg has no zscale to map it to SDR; its colours are off.';
    warnings.push({ code: 'hdr_not_mapped', message });
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
    video: video === null ? null : pictureFound(video),
    audio: audio.map(({ codec, channels, sampleRate, language }) => ({
      codec,
      channels,
      sample_rate: sampleRate,
      language: languageTag(language) ?? 'und',
    })),
  };
}

function pictureFound(video: VideoSource['video']): SourceFound['video'] {
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
