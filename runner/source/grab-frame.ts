import { join } from 'node:path';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { runTool } from '../tools/run-tool.ts';
import type { VideoSource } from './examine-video.ts';
import { grabFrameCommand, parseFrameTimes } from './grab-command.ts';

/** One frame as a PNG in the workspace; its time in seconds from the start of the file. */
export interface GrabbedFrame {
  readonly file: string;
  readonly timeSec: number;
}

interface Grab {
  readonly fromSec: number;
  readonly which: 'first' | 'last';
  readonly file?: string;
}

const grabTimeoutMs = 10 * 60_000;
/** How far before the end the last decodable frame is searched, in seconds. */
const stepsBackSec = [2, 15, 120, Number.POSITIVE_INFINITY];
const undecodable = { code: 'corrupt_input', message: 'The source is damaged: it cannot be decoded.' } as const;

/** One frame, or null when no frame can be decoded from there on. */
export async function grabFrame(
  source: VideoSource,
  { fromSec: wantedSec, which, file = join(workspaceFiles.made, 'frame.png') }: Grab,
  context: StepContext,
): Promise<GrabbedFrame | null> {
  const fromSec = Math.max(0, wantedSec);
  const size = { width: source.video.width, height: source.video.height };
  const command = grabFrameCommand(context.program('ffmpeg'), { source, fromSec, which, size, output: file });
  try {
    const { stdout } = await runTool(command, { timeoutMs: grabTimeoutMs, failure: undecodable }, context);
    // ffmpeg may decode and print a second frame after it has taken the first.
    const timeSec = parseFrameTimes(stdout).at(which === 'first' ? 0 : -1);
    return timeSec === undefined ? null : { file, timeSec: Math.max(0, fromSec + timeSec) };
  } catch (error) {
    // Some versions of ffmpeg fail when there is no frame, others print a warning.
    if (isJobProblem(error) && error.code === undecodable.code) return null;
    throw error;
  }
}

/** The last frame that can be decoded. @throws KnownProblem `corrupt_input` when there is none */
export async function grabLastFrame(source: VideoSource, context: StepContext): Promise<GrabbedFrame> {
  for (const backSec of stepsBackSec) {
    const fromSec = Math.max(0, source.video.endSec - backSec);
    const grabbed = await grabFrame(source, { fromSec, which: 'last' }, context);
    if (grabbed !== null) return grabbed;
    if (fromSec === 0) break;
  }
  throw new KnownProblem('corrupt_input', 'No frame of the source can be decoded.');
}
