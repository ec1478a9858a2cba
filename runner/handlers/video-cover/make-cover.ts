import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { JobOptions } from '#domain/job-types/index.ts';
import { type Warning, warningsSchema } from '#domain/job-types/shared-results.ts';
import { framesSec } from '#domain/media/grid.ts';
import { coverPath } from '#domain/media/revision-layout.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { type GrabbedFrame, grabFrame, grabLastFrame } from '../../source/grab-frame.ts';
import { encodeAs, sharp } from '../../tools/images.ts';
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
  if (wantedSec !== undefined && wantedSec < source.video.endSec) {
    // The frame shown at a time is the last that begins before it.
    const fromSec = wantedSec - framesSec(1, source.video.rate) + 0.001;
    grabbed = await grabFrame(source, { fromSec, which: 'first' }, context);
  }
  if (grabbed === null) {
    grabbed = await grabLastFrame(source, context);
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

async function grabRepresentative(source: VideoSource, context: StepContext): Promise<GrabbedFrame | null> {
  const looks: (FrameLook & GrabbedFrame)[] = [];
  for (const share of [...preferredShares, ...otherShares]) {
    if (looks.length >= preferredShares.length && looks.some(showsSomething)) break;
    const file = join(workspaceFiles.made, `candidate-${share}.png`);
    const grabbed = await grabFrame(source, { fromSec: source.video.endSec * share, which: 'first', file }, context);
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
