import { KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import type { planChapters } from '#domain/media/chapters.ts';
import type { SubtitleSource } from '#domain/media/subtitle-plan.ts';
import { type ProbedAudio, readAudioStreams } from './audio-streams.ts';
import { type FfprobeDocument, type FfprobeStream, lengthOf, secondsOf } from './ffprobe-document.ts';
import { readSubtitleStreams } from './subtitle-streams.ts';
import { chooseVideo, isAttachedPicture, movingStreams, type VideoExtents } from './video-choice.ts';

/** The statements of a source's headers, whatever streams it has. */
export interface ProbedStreams {
  readonly container: string;
  /** When the file begins, in seconds of its own timestamps; ffmpeg counts from there. */
  readonly startSec: number;
  /** The length of the whole file, in seconds; null when no header states it. */
  readonly durationSec: number | null;
  /** The stream to show, as ffprobe describes it; null in an audio-only source. See `readVideoStream`. */
  readonly video: FfprobeStream | null;
  readonly audio: readonly ProbedAudio[];
  /** Text subtitles. */
  readonly subtitles: readonly SubtitleSource[];
  /** In seconds from the start of the file. */
  readonly chapters: Parameters<typeof planChapters>[0];
  readonly warnings: readonly Warning[];
}

const streamsMax = 64;

/**
 * Reads the streams of a source. `extents` are needed where several videos compete (`movingStreams`).
 *
 * @throws KnownProblem `limit_exceeded`
 */
export function readStreams(
  { format, streams: all, programs, chapters }: FfprobeDocument,
  extents: VideoExtents = new Map(),
): ProbedStreams {
  if (all.filter(isRead).length > streamsMax) {
    throw new KnownProblem('limit_exceeded', `The source has more than ${streamsMax} streams.`);
  }
  const { video, warnings: videoWarnings } = chooseVideo(movingStreams(all), programs, extents);
  const streams = shownWith(video, { streams: all, programs });
  const container = format.format_name.split(',')[0] ?? '';
  const startSec = startOf({ container, format, video, streams });
  const { audio, warnings } = readAudioStreams(streams, startSec);
  const { subtitles, warnings: subtitleWarnings } = readSubtitleStreams(streams);
  const statedSec = lengthOf(format.duration);
  return {
    container,
    startSec,
    // FLV states the time of its end and not its length.
    durationSec: statedSec !== null && container === 'flv' ? lengthOf(String(statedSec - startSec)) : statedSec,
    video,
    audio,
    subtitles,
    chapters: chapters.map(({ start_time: from, end_time: to, tags }) => ({
      startSec: (secondsOf(from) ?? 0) - startSec,
      endSec: (secondsOf(to) ?? 0) - startSec,
      title: tags['title'],
    })),
    warnings: [...videoWarnings, ...warnings, ...subtitleWarnings],
  };
}

/** The streams of the video's program and of no program: other programs of a broadcast are other channels. */
function shownWith(
  video: FfprobeStream | null,
  { streams, programs }: Pick<FfprobeDocument, 'streams' | 'programs'>,
): FfprobeStream[] {
  const indexes = programs.map((program) => program.streams.map(({ index }) => index));
  const own = indexes.find((program) => video !== null && program.includes(video.index));
  if (own === undefined) return streams;
  const isOther = (index: number) => !own.includes(index) && indexes.some((program) => program.includes(index));
  return streams.filter(({ index }) => !isOther(index));
}

/** Containers in which ffmpeg counts from the start of the streams in use: data may begin long before them. */
const containersOfUsedStreams = ['mpegts', 'mpeg', 'ogg'];

function startOf({
  container,
  format,
  video,
  streams,
}: Pick<FfprobeDocument, 'format' | 'streams'> & Pick<ProbedStreams, 'container' | 'video'>): number {
  const fileSec = secondsOf(format.start_time) ?? 0;
  if (!containersOfUsedStreams.includes(container)) return fileSec;
  const used = streams.filter((stream) => stream === video || stream.codec_type === 'audio');
  const starts = used.flatMap((stream) => secondsOf(stream.start_time) ?? []);
  return starts.length === 0 ? fileSec : Math.min(...starts);
}

/** Whether a stream costs work: attached files and images, and data, are never read. */
function isRead(stream: FfprobeStream): boolean {
  return ['video', 'audio', 'subtitle'].includes(stream.codec_type ?? '') && !isAttachedPicture(stream);
}
