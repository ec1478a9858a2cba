import { KnownProblem } from '#domain/errors.ts';
import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { framesSec, type Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { PacketTotals } from '#domain/media/packet-timeline.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import type { Mastering } from '../../source/mastering.ts';
import { ProgressReader } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { encodeVideoCommand, tooManyErrorsExit } from './command.ts';
import { encodedFile } from './encoded.ts';
import { encodeTimeoutMs, silenceMsMax, undecodable } from './encoder-limits.ts';
import { checkFrames, type FrameSpan } from './frame-span.ts';
import { withMarks } from './watermark.ts';

const badFramesShareMax = 0.05;

interface VideoWork {
  readonly source: VideoSource;
  readonly grid: Grid;
  readonly rungs: readonly Rung[];
  readonly mastering: Mastering | null;
  readonly packets: PacketTotals;
  readonly span: FrameSpan;
  readonly onFraction: (fraction: number) => void;
}

/** Encodes every rung with one ffmpeg. @returns the number of frames, the same for each rung */
export async function encodeVideo(
  { source, grid, rungs, mastering, packets, span, onFraction }: VideoWork,
  context: StepContext,
): Promise<{ frames: number; warnings: Warning[] }> {
  const plain = rungs.map((track) => ({ track, path: encodedFile('video', track.id) }));
  const outputs = await withMarks(plain, context);
  const { profile, task } = context;
  const isEncrypted = jobTypeRow(task.type).needsContentKey(task.options);
  const durationSec = framesSec(span.frames, grid.rate);
  const progress = new ProgressReader((sec) => onFraction(sec / durationSec));
  const damage = new DamageReader();
  await runTool(
    encodeVideoCommand(context.program('ffmpeg'), {
      source,
      grid,
      span,
      rungs: outputs,
      profile,
      mastering,
      isEncrypted,
    }),
    {
      timeoutMs: encodeTimeoutMs(durationSec, packets.packets),
      silenceMsMax,
      failure: undecodable,
      failureOfExit: { [tooManyErrorsExit]: undecodable },
      onStdoutLine: progress.line,
      onStderrLine: damage.line,
    },
    context,
  );
  const { frames } = progress;
  if (frames === 0) throw new KnownProblem(undecodable.code, undecodable.message);
  const warnings = [...damageWarnings(damage.frames, frames), ...checkFrames(frames, span, source)];
  return { frames, warnings };
}

/**
 * The messages by which ffmpeg reports a frame that is concealed, and one that is lost, which depend on its version.
 */
const damageMessages = [
  'corrupt decoded frame',
  'Error while decoding stream',
  'Error submitting packet to decoder',
  'Decoding error:',
];

/** Counts the frames that ffmpeg reports as damaged. It gives up by itself when too many are lost. */
export class DamageReader {
  frames = 0;

  readonly line = (line: string): void => {
    if (damageMessages.some((message) => line.includes(message))) this.frames += 1;
  };
}

/**
 * The warnings about damaged frames in a stream of `frames` frames.
 *
 * @throws KnownProblem `corrupt_input` when there are too many
 */
export function damageWarnings(badFrames: number, frames: number): Warning[] {
  if (badFrames / frames > badFramesShareMax) {
    throw new KnownProblem('corrupt_input', `The source is damaged: ${badFrames} frames could not be decoded whole.`);
  }
  if (badFrames === 0) return [];
  return [{ code: 'damaged_frames', message: `${badFrames} frames of the source are damaged.` }];
}
