import { KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { framesIn, framesSec, type Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { ProgressReader } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { encodeVideoCommand, tooManyErrorsExit } from './command.ts';
import { encodedFile } from './encoded.ts';
import { encodeTimeoutMs, silenceMsMax, undecodable } from './encoder-limits.ts';

/** A stream that lacks more of its stated length is damaged (docs/media.md, "Odd sources"). */
const missingShareMax = 0.02;
const badFramesShareMax = 0.05;
/** In a short source, a frame or two are a matter of rounding. */
const missingFramesIgnored = 2;
/** Sound that outlasts the picture by more than this is kept to its end, over the last picture. */
const overhangSecMin = 0.1;

interface VideoWork {
  readonly source: VideoSource;
  readonly grid: Grid;
  readonly rungs: readonly Rung[];
  readonly onFraction: (fraction: number) => void;
}

/** Encodes every rung with one ffmpeg. @returns the number of frames, the same for each rung */
export async function encodeVideo(
  { source, grid, rungs, onFraction }: VideoWork,
  context: StepContext,
): Promise<{ frames: number; warnings: Warning[] }> {
  const outputs = rungs.map((track) => ({ track, path: encodedFile('video', track.id) }));
  const { profile } = context;
  const heldFrames = heldFramesOf(source);
  const progress = new ProgressReader((sec) => onFraction(source.durationSec > 0 ? sec / source.durationSec : 0));
  let badFrames = 0;
  await runTool(
    encodeVideoCommand(context.program('ffmpeg'), { source, grid, heldFrames, rungs: outputs, profile }),
    {
      timeoutMs: encodeTimeoutMs(source.durationSec),
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
  const expected = framesIn(source.video.endSec, grid.rate) + heldFrames;
  const missing = source.isDurationStated ? expected - frames : 0;
  return { frames, warnings: [...badFramesWarnings(badFrames, frames), ...missingWarnings(missing, expected, grid)] };
}

/** How many frames the last picture is held while the sound goes on. */
function heldFramesOf({ video, durationSec }: VideoSource): number {
  const overhangSec = durationSec - video.endSec;
  return overhangSec > overhangSecMin ? framesIn(overhangSec, video.rate) : 0;
}

function badFramesWarnings(badFrames: number, frames: number): Warning[] {
  if (badFrames / frames > badFramesShareMax) {
    throw new KnownProblem('corrupt_input', `The source is damaged: ${badFrames} frames could not be decoded whole.`);
  }
  if (badFrames === 0) return [];
  return [{ code: 'damaged_frames', message: `${badFrames} frames of the source are damaged.` }];
}

function missingWarnings(missing: number, expected: number, grid: Grid): Warning[] {
  if (missing <= missingFramesIgnored) return [];
  const missingShare = missing / expected;
  if (missingShare > missingShareMax) {
    const seconds = framesSec(missing, grid.rate).toFixed(1);
    throw new KnownProblem('corrupt_input', `The source is cut off: ${seconds} s of its video are missing.`);
  }
  if (missingShare <= missingShareMax / 2) return [];
  return [{ code: 'shorter_than_stated', message: 'The source ends before its container says.' }];
}
