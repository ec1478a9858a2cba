import type { SubtitleSource } from '#domain/media/subtitle-plan.ts';
import type { StepContext } from '../context/step-context.ts';
import { sideDataCommand } from '../tools/ffprobe.ts';
import { tryTool } from '../tools/try-tool.ts';
import type { VideoSource } from './examine-video.ts';

/** Codecs whose frames carry captions (ATSC A/53 Part 4), as ffmpeg reads them. */
const codecs = ['h264', 'hevc', 'mpeg2video'];
/** A video with captions has them, or empty ones, in every frame. */
const framesSampled = 16;

/**
 * The captions inside of a video's frames, where a few frames at the start and in the middle have any. Where they are a
 * track too, the track is read.
 */
export async function findCaptions(
  { path, video, durationSec, subtitles }: Pick<VideoSource, 'path' | 'video' | 'durationSec' | 'subtitles'>,
  context: StepContext,
): Promise<SubtitleSource[]> {
  if (!codecs.includes(video.codec) || subtitles.some(({ isCea608 }) => isCea608)) return [];
  const { streamIndex } = video;
  const at = { streamIndex, laterSec: durationSec / 2, frames: framesSampled };
  let isFound = false;
  const onStdoutLine = (line: string) => {
    isFound ||= line.includes('Closed Captions');
  };
  await tryTool(sideDataCommand(context.program('ffprobe'), path, at), { onStdoutLine, stdoutBytesMax: 0 }, context);
  if (!isFound) return [];
  const unknown = { language: undefined, title: undefined };
  return [{ streamIndex, isCea608: true, ...unknown, isForced: false, isHearingImpaired: true }];
}
