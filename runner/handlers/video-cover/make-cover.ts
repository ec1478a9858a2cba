import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { JobOptions } from '#domain/job-types/index.ts';
import { placeholderSchema, type Warning, warningsSchema } from '#domain/job-types/shared-results.ts';
import { coverPath } from '#domain/media/revision-layout.ts';
import { sharp } from '#platform/images/sharp.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { type GrabbedFrame, grabFrameAt, grabFrames, grabLastFrame } from '../../source/grab-frame.ts';
import { encodeAs } from '../../tools/images.ts';
import { placeholderOf } from '../../tools/placeholder.ts';
import { chooseFrame, type FrameLook, runsOf, showsSomething } from './frame-choice.ts';

/** The image that `makeCover` writes to `coverFile`. */
export const coverMadeSchema = z.object({
  width: z.int().positive(),
  height: z.int().positive(),
  size: z.int().positive(),
  timestampSec: z.number().nonnegative(),
  placeholder: placeholderSchema,
  warnings: warningsSchema,
});
export type CoverMade = z.infer<typeof coverMadeSchema>;

/** The cover in the workspace. */
export const coverFile = join(workspaceFiles.made, coverPath);

/** Where a representative frame is searched, as shares of the video, in order of preference. */
const preferredShares = [0.1, 0.12, 0.08, 0.2, 0.35];
const otherShares = [0.5, 0.65, 0.8, 0];
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
  if (wantedSec !== undefined && wantedSec < source.video.endSec)
    grabbed = await grabFrameAt(source, wantedSec, context);
  if (grabbed === null) {
    grabbed = await grabLastFrame(source, context);
    if (wantedSec !== undefined) {
      const message = `There is no frame at ${wantedSec} s; the cover shows the last one.`;
      warnings.push({ code: 'timestamp_past_end', message });
    }
  }
  const image = encodeAs(sharp(context.workspace.at(grabbed.file)), 'jpg');
  const { width, height, size } = await image.toFile(context.workspace.at(coverFile));
  const placeholder = await placeholderOf(sharp(context.workspace.at(grabbed.file)));
  await rm(context.workspace.at(grabbed.file));
  return { width, height, size, placeholder, timestampSec: Number(grabbed.timeSec.toFixed(3)), warnings };
}

async function grabRepresentative(source: VideoSource, context: StepContext): Promise<GrabbedFrame | null> {
  const { endSec } = source.video;
  const preferredSec = preferredShares.map((share) => endSec * share);
  const found = new Map<number, Look>();
  for (const timesSec of runsOf(preferredSec)) {
    const name = `candidates-from-${timesSec[0]}`;
    const frames = await grabFrames(source, { timesSec, name }, context);
    for (const [index, frame] of frames.entries()) found.set(timesSec[index] ?? 0, await lookAt(frame, context));
  }
  const looks = preferredSec.flatMap((sec) => found.get(sec) ?? []);
  for (const share of otherShares) {
    if (looks.length >= preferredShares.length && looks.some(showsSomething)) break;
    const [frame] = await grabFrames(source, { timesSec: [endSec * share], name: `candidate-${share}` }, context);
    if (frame !== undefined) looks.push(await lookAt(frame, context));
  }
  const chosen = chooseFrame(looks);
  for (const { file } of looks) if (file !== chosen?.file) await rm(context.workspace.at(file));
  return chosen ?? null;
}

type Look = FrameLook & GrabbedFrame;

async function lookAt(frame: GrabbedFrame, { workspace }: StepContext): Promise<Look> {
  const small = await sharp(workspace.at(frame.file))
    .resize({ width: lookWidth, height: lookWidth, fit: 'inside' })
    .greyscale()
    .png()
    .toBuffer();
  const { channels, sharpness } = await sharp(small).stats();
  return { ...frame, mean: channels[0]?.mean ?? 0, deviation: channels[0]?.stdev ?? 0, sharpness };
}
