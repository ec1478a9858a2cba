import type { Warning } from '#domain/job-types/shared-results.ts';
import type { FfprobeDocument, FfprobeStream } from './ffprobe-document.ts';

/** The sums over the packets of a video stream: their number, and the time from the first to the last in seconds. */
interface VideoExtent {
  readonly frames: number;
  readonly lengthSec: number;
}

/** By the index of the stream. */
export type VideoExtents = ReadonlyMap<number, VideoExtent>;

/** A video that is shorter than this share of the longest is a preview or a title, and not the video to stream. */
const lengthShareMin = 0.5;

export function isAttachedPicture({ disposition }: FfprobeStream): boolean {
  return disposition['attached_pic'] === 1 || disposition['timed_thumbnails'] === 1;
}

/** The video streams that may be shown. */
export function movingStreams(streams: readonly FfprobeStream[]): FfprobeStream[] {
  return streams.filter((stream) => stream.codec_type === 'video' && !isAttachedPicture(stream));
}

/**
 * Chooses the video to stream: cameras put an image, or a small copy, before or behind it, and often all are marked as
 * default. Of the streams with more than a frame and at least half of the longest's length, the marked ones come first;
 * of these, in the program of the first, the one with the most pixels, else the first.
 */
export function chooseVideo(
  moving: readonly FfprobeStream[],
  programs: FfprobeDocument['programs'],
  extents: VideoExtents,
): { video: FfprobeStream | null; warnings: Warning[] } {
  const longestSec = Math.max(0, ...[...extents.values()].map(({ lengthSec }) => lengthSec));
  const isLong = ({ index }: FfprobeStream) => {
    const { frames, lengthSec } = extents.get(index) ?? { frames: 0, lengthSec: 0 };
    return frames > 1 && lengthSec >= longestSec * lengthShareMin;
  };
  const long = orAll(moving, moving.filter(isLong));
  const marked = orAll(
    long,
    long.filter(({ disposition }) => disposition['default'] === 1),
  );
  const programOf = (index: number) =>
    programs.findIndex(({ streams }) => streams.some((each) => each.index === index));
  const isBeside = (stream: FfprobeStream) => programOf(stream.index) === programOf(marked[0]?.index ?? -1);
  const [video = null] = marked.filter(isBeside).toSorted((a, b) => pixelsOf(b) - pixelsOf(a));
  const others = moving.filter((stream) => stream !== video && isBeside(stream));
  if (video === null || others.length === 0) return { video, warnings: [] };
  const leftOut = others.map((stream) => `${stream.index} (${describe(stream)})`).join(', ');
  const message = `Of ${others.length + 1} video streams, ${video.index} (${describe(video)}) was taken; left out: ${leftOut}.`;
  return { video, warnings: [{ code: 'video_streams_left_out', message }] };
}

function orAll<T>(all: readonly T[], some: readonly T[]): readonly T[] {
  return some.length > 0 ? some : all;
}

function pixelsOf({ width = 0, height = 0 }: FfprobeStream): number {
  return width * height;
}

function describe({ codec_name: codec = 'unknown', width = 0, height = 0 }: FfprobeStream): string {
  return `${codec}, ${width} × ${height}`;
}
