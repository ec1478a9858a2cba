import { join } from 'node:path';
import type { Command } from '#platform/commands/command.ts';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { framesSec } from '#domain/media/grid.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { runTool } from '../tools/run-tool.ts';
import type { VideoSource } from './examine-video.ts';
import { grabFramesCommand, grabLastFrameCommand, parseFrameTimes } from './grab-command.ts';

/** One frame as a PNG in the workspace; its time in seconds from the start of the file. */
export interface GrabbedFrame {
  readonly file: string;
  readonly timeSec: number;
}

const grabTimeoutMs = 10 * 60_000;
/** How far before the end the last decodable frame is searched, in seconds. */
const stepsBackSec = [2, 15, 120, Number.POSITIVE_INFINITY];
const undecodable = { code: 'corrupt_input', message: 'The source is damaged: it cannot be decoded.' } as const;

/** The first frame from `fromSec` on, or null when none can be decoded from there on. */
async function grabFrame(source: VideoSource, fromSec: number, context: StepContext): Promise<GrabbedFrame | null> {
  const [frame = null] = await grabFrames(source, { timesSec: [fromSec], name: 'frame' }, context);
  return frame;
}

/** The frame that is shown at `sec`, else the next one; null when none can be decoded from there on. */
export async function grabFrameAt(
  source: VideoSource,
  sec: number,
  context: StepContext,
): Promise<GrabbedFrame | null> {
  // The frame shown at a time is the last that begins before it.
  const grabbed = await grabFrame(source, sec - framesSec(1, source.video.rate) + 0.001, context);
  // A frame may be shown for longer than the rate says: a slide, a still screen, a time lapse.
  if (grabbed !== null && grabbed.timeSec <= sec) return grabbed;
  return (await grabFrameShownAt(source, sec, context)) ?? grabbed;
}

interface Grabs {
  /** Ascending; what lies between them is decoded. */
  readonly timesSec: readonly [number, ...number[]];
  /** The name of the files; other frames of the same name are overwritten. */
  readonly name: string;
}

/** The first frame from each time on; fewer, without the last ones, where fewer can be decoded. */
export async function grabFrames(
  source: VideoSource,
  { timesSec: [firstSec, ...laterSec], name }: Grabs,
  context: StepContext,
): Promise<GrabbedFrame[]> {
  const fromSec = Math.max(0, firstSec);
  const timesSec = [fromSec, ...laterSec] as const;
  const fileOf = (number: number | '%d') => join(workspaceFiles.made, `${name}-${number}.png`);
  const grab = { source, timesSec, size: sizeOf(source), output: fileOf('%d') };
  const found = await timesGrabbed(grabFramesCommand(context.program('ffmpeg'), grab), context);
  // ffmpeg may decode and print a frame more after it has taken the last.
  return found.slice(0, timesSec.length).map((timeSec, index) => ({
    file: fileOf(index + 1),
    timeSec: Math.max(0, fromSec + timeSec),
  }));
}

/** The last frame that can be decoded. @throws KnownProblem `corrupt_input` when there is none */
export async function grabLastFrame(source: VideoSource, context: StepContext): Promise<GrabbedFrame> {
  const file = join(workspaceFiles.made, 'last-frame.png');
  for (const backSec of stepsBackSec) {
    const fromSec = Math.max(0, source.video.endSec - backSec);
    const grab = { source, fromSec, size: sizeOf(source), output: file };
    const timeSec = (await timesGrabbed(grabLastFrameCommand(context.program('ffmpeg'), grab), context)).at(-1);
    if (timeSec !== undefined) return { file, timeSec: Math.max(0, fromSec + timeSec) };
    if (fromSec === 0) break;
  }
  throw new KnownProblem('corrupt_input', 'No frame of the source can be decoded.');
}

/** How far back a frame is searched that may have been shown for long: a slide, a still screen, a time lapse. */
const heldSecMax = [2, 35];

/** The last frame that begins at `sec` or before; null where none does, or none can be decoded. */
async function grabFrameShownAt(source: VideoSource, sec: number, context: StepContext): Promise<GrabbedFrame | null> {
  const file = join(workspaceFiles.made, 'shown-frame.png');
  for (const backSec of heldSecMax) {
    const fromSec = Math.max(0, sec - backSec);
    const grab = { source, fromSec, toSec: sec + 0.001, size: sizeOf(source), output: file };
    const timeSec = (await timesGrabbed(grabLastFrameCommand(context.program('ffmpeg'), grab), context)).at(-1);
    if (timeSec !== undefined) return { file, timeSec: Math.max(0, fromSec + timeSec) };
    if (fromSec === 0) break;
  }
  return null;
}

function sizeOf({ video: { width, height } }: VideoSource) {
  return { width, height };
}

/** Runs a command that grabs frames. @returns their times; none where no frame can be decoded */
async function timesGrabbed(command: Command, context: StepContext): Promise<number[]> {
  try {
    const { stdout } = await runTool(command, { timeoutMs: grabTimeoutMs, failure: undecodable }, context);
    return parseFrameTimes(stdout);
  } catch (error) {
    // Some versions of ffmpeg fail when there is no frame, others print a warning.
    if (isJobProblem(error) && error.code === undecodable.code) return [];
    throw error;
  }
}
