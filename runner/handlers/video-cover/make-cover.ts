import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import { type Warning, warningsSchema } from '#domain/job-types/shared-results.ts';
import { framesSec } from '#domain/media/grid.ts';
import { coverPath } from '#domain/media/revision-layout.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { encodeAs, sharp } from '../../tools/images.ts';
import { runTool } from '../../tools/run-tool.ts';
import { grabFrameCommand, parseFrameTimes } from './command.ts';
import { chooseFrame, type FrameLook, showsSomething } from './frame-choice.ts';

/** The image that `makeCover` writes to `coverFile`. */
export const coverMadeSchema = z.object({
  width: z.int().positive(),
  height: z.int().positive(),
  size: z.int().positive(),
  timestampSec: z.number().nonnegative(),
  warnings: warningsSchema,
});
export type CoverMade = z.infer<typeof coverMadeSchema>;

/** The cover in the workspace. */
export const coverFile = join(workspaceFiles.made, coverPath);

interface Grabbed {
  readonly file: string;
  readonly timeSec: number;
}

const grabTimeoutMs = 10 * 60_000;
/** Where a representative frame is searched, as shares of the video, in order of preference. */
const preferredShares = [0.1, 0.12, 0.08, 0.2, 0.35];
const otherShares = [0.5, 0.65, 0.8, 0];
/** How far before the end the last decodable frame is searched, in seconds. */
const stepsBackSec = [2, 15, 120, Number.POSITIVE_INFINITY];
const lookWidth = 320;

/**
 * Takes one frame of the video as a JPEG: the one that is shown at `timestamp_sec`, or a representative one.
 *
 * @throws KnownProblem `corrupt_input` when no frame can be decoded
 */
export async function makeCover(
  source: VideoSource,
  { timestamp_sec: wantedSec }: JobOptions<'video:cover'>,
  context: StepContext,
): Promise<CoverMade> {
  const warnings: Warning[] = [];
  let grabbed = wantedSec === undefined ? await grabRepresentative(source, context) : null;
  if (wantedSec !== undefined && wantedSec < source.video.endSec) {
    // The frame shown at a time is the last that begins before it.
    const fromSec = wantedSec - framesSec(1, source.video.rate) + 0.001;
    grabbed = await grab(source, { fromSec, which: 'first' }, context);
  }
  if (grabbed === null) {
    grabbed = await grabLast(source, context);
    if (wantedSec !== undefined) {
      const message = `There is no frame at ${wantedSec} s; the cover shows the last one.`;
      warnings.push({ code: 'timestamp_past_end', message });
    }
  }
  const image = encodeAs(sharp(context.workspace.at(grabbed.file)), 'jpg');
  const { width, height, size } = await image.toFile(context.workspace.at(coverFile));
  await rm(context.workspace.at(grabbed.file));
  return { width, height, size, timestampSec: Number(grabbed.timeSec.toFixed(3)), warnings };
}

async function grabRepresentative(source: VideoSource, context: StepContext): Promise<Grabbed | null> {
  const looks: (FrameLook & Grabbed)[] = [];
  for (const share of [...preferredShares, ...otherShares]) {
    if (looks.length >= preferredShares.length && looks.some(showsSomething)) break;
    const file = join(workspaceFiles.made, `candidate-${share}.png`);
    const grabbed = await grab(source, { fromSec: source.video.endSec * share, which: 'first', file }, context);
    if (grabbed !== null) looks.push({ ...grabbed, ...(await lookAt(context.workspace.at(file))) });
  }
  const chosen = chooseFrame(looks);
  for (const { file } of looks) if (file !== chosen?.file) await rm(context.workspace.at(file));
  return chosen ?? null;
}

async function lookAt(path: string): Promise<Omit<FrameLook, 'timeSec'>> {
  const small = await sharp(path).resize({ width: lookWidth }).greyscale().png().toBuffer();
  const { channels, sharpness } = await sharp(small).stats();
  return { mean: channels[0]?.mean ?? 0, deviation: channels[0]?.stdev ?? 0, sharpness };
}

async function grabLast(source: VideoSource, context: StepContext): Promise<Grabbed> {
  for (const backSec of stepsBackSec) {
    const fromSec = Math.max(0, source.video.endSec - backSec);
    const grabbed = await grab(source, { fromSec, which: 'last' }, context);
    if (grabbed !== null) return grabbed;
    if (fromSec === 0) break;
  }
  throw new KnownProblem('corrupt_input', 'No frame of the source can be decoded.');
}

/** One frame, or null when no frame can be decoded from there on. */
async function grab(
  source: VideoSource,
  {
    fromSec: askedSec,
    which,
    file = join(workspaceFiles.made, 'frame.png'),
  }: { fromSec: number; which: 'first' | 'last'; file?: string },
  context: StepContext,
): Promise<Grabbed | null> {
  const fromSec = Math.max(0, askedSec);
  const size = { width: source.video.width, height: source.video.height };
  const command = grabFrameCommand(context.program('ffmpeg'), { source, fromSec, which, size, output: file });
  const failure = { code: 'corrupt_input', message: 'The source is damaged: it cannot be decoded.' } as const;
  try {
    const { stdout } = await runTool(command, { timeoutMs: grabTimeoutMs, failure }, context);
    // ffmpeg may decode and print a second frame after it has taken the first.
    const timeSec = parseFrameTimes(stdout).at(which === 'first' ? 0 : -1);
    return timeSec === undefined ? null : { file, timeSec: Math.max(0, fromSec + timeSec) };
  } catch (error) {
    // Some versions of ffmpeg fail when there is no frame, others print a warning.
    if (error instanceof KnownProblem && error.code === failure.code) return null;
    throw error;
  }
}
