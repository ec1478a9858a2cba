import { KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { framesSec, type Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { PacketTotals } from '#domain/media/packet-timeline.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { ProgressReader } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { encodeVideoCommand, tooManyErrorsExit } from './command.ts';
import { encodedFile } from './encoded.ts';
import { encodeTimeoutMs, silenceMsMax, undecodable } from './encoder-limits.ts';
import { checkFrames, planFrames } from './frame-span.ts';

const badFramesShareMax = 0.05;

interface VideoWork {
  readonly source: VideoSource;
  readonly grid: Grid;
  readonly rungs: readonly Rung[];
  readonly packets: PacketTotals;
  readonly onFraction: (fraction: number) => void;
}

/** Encodes every rung with one ffmpeg. @returns the number of frames, the same for each rung */
export async function encodeVideo(
  { source, grid, rungs, packets, onFraction }: VideoWork,
  context: StepContext,
): Promise<{ frames: number; warnings: Warning[] }> {
  const outputs = rungs.map((track) => ({ track, path: encodedFile('video', track.id) }));
  const { profile } = context;
  const span = planFrames(source, packets);
  const durationSec = framesSec(span.frames, grid.rate);
  const progress = new ProgressReader((sec) => onFraction(sec / durationSec));
  let badFrames = 0;
  await runTool(
    encodeVideoCommand(context.program('ffmpeg'), { source, grid, span, rungs: outputs, profile }),
    {
      timeoutMs: encodeTimeoutMs(durationSec, packets.packets),
      silenceMsMax,
      failure: undecodable,
      failureOfExit: { [tooManyErrorsExit]: undecodable },
      onStdoutLine: progress.line,
      onStderrLine: (line) => {
        // The only message by which ffmpeg reports a concealed frame.
        if (line.includes('corrupt decoded frame')) badFrames += 1;
      },
    },
    context,
  );
  const { frames } = progress;
  if (frames === 0) throw new KnownProblem(undecodable.code, undecodable.message);
  const warnings = [...span.warnings, ...badFramesWarnings(badFrames, frames), ...checkFrames(frames, span, source)];
  return { frames, warnings };
}

function badFramesWarnings(badFrames: number, frames: number): Warning[] {
  if (badFrames / frames > badFramesShareMax) {
    throw new KnownProblem('corrupt_input', `The source is damaged: ${badFrames} frames could not be decoded whole.`);
  }
  if (badFrames === 0) return [];
  return [{ code: 'damaged_frames', message: `${badFrames} frames of the source are damaged.` }];
}
