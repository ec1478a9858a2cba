import { displaySizeOf, framePixelsMax } from '#domain/media/frame-size.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { fieldOf, keyFramesCommand } from '../tools/ffprobe.ts';
import { tryTool } from '../tools/try-tool.ts';
import { isFitted, type StoredFrame } from '../tools/video-filters.ts';
import { aspectOf, type ProbedVideo } from './video-stream.ts';

/** Containers of recordings that change the size of their frames on the way, as calls do with their bandwidth. */
const containers = ['matroska', 'mpegts', 'flv'];
/** Where key frames are decoded, as shares of the video, and how long each time. */
const sampleShares = [0.1, 0.3, 0.5, 0.7, 0.9];
const sampleSec = 2;

/**
 * The video with the size of its largest key frame of a few. Headers state the first size alone, and calls begin small.
 * Smaller frames are fitted into it (`firstFilters`).
 */
export async function atLargestSize(
  video: ProbedVideo,
  { container, endSec }: { readonly container: string; readonly endSec: number },
  context: StepContext,
): Promise<ProbedVideo> {
  if (!containers.includes(container) || !isFitted(video)) return video;
  let { stored } = video;
  const onStdoutLine = (line: string) => {
    const frame = parseFrameSize(line);
    if (frame !== null && pixelsOf(frame) > pixelsOf(stored)) stored = frame;
  };
  const fromSec = sampleShares.map((share) => share * endSec);
  const at = { streamIndex: video.streamIndex, fromSec, sampleSec };
  const command = keyFramesCommand(context.program('ffprobe'), workspaceFiles.source, at);
  await tryTool(command, { onStdoutLine, stdoutBytesMax: 0 }, context);
  return { ...video, ...displaySizeOf({ ...stored, rotation: video.rotation }), stored };
}

/** Reads a line of `keyFramesCommand`; null for what is no frame, and for one that is too large to be decoded. */
export function parseFrameSize(line: string): StoredFrame | null {
  const [width, height] = [Number(fieldOf(line, 'width')), Number(fieldOf(line, 'height'))];
  const isDecoded = width >= 1 && height >= 1 && width * height <= framePixelsMax;
  if (!isDecoded) return null;
  return { width, height, sampleAspect: aspectOf(fieldOf(line, 'sample_aspect_ratio')) };
}

const pixelsOf = ({ width, height }: StoredFrame) => width * height;
