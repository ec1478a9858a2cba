import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { framesSec } from '#domain/media/grid.ts';
import { parseJson } from '#domain/parse-json.ts';
import { type StepContext, workspaceFiles } from '../../../context/step-context.ts';
import { ProgressReader } from '../../../tools/ffmpeg.ts';
import { runTool } from '../../../tools/run-tool.ts';
import { makeEncodedFolders } from '../encode.ts';
import { DamageReader } from '../encode-video.ts';
import { encodedFile } from '../encoded.ts';
import { encodeTimeoutMs, silenceMsMax, undecodable } from '../encoder-limits.ts';
import { makeStoryboard } from '../storyboard.ts';
import { withMarks } from '../watermark.ts';
import { encodeChunkCommand } from './commands.ts';
import { chunkOf, encodePlanSchema } from './plan.ts';

/** The document that `process` hands to `publish` of a chunk. */
export const chunkMadeSchema = z.object({ damagedFrames: z.int().nonnegative() });
export type ChunkMade = z.infer<typeof chunkMadeSchema>;

/**
 * Encodes one chunk for every rung, from its fetched source.
 *
 * @throws KnownProblem `corrupt_input`, `resource_exhausted`, `deadline_exceeded`, …
 */
export async function encodeChunk(context: StepContext): Promise<ChunkMade> {
  const plan = encodePlanSchema.parse(parseJson(await readFile(context.workspace.at(workspaceFiles.plan), 'utf8')));
  const { chunk } = chunkOf(context.task, plan);
  await makeEncodedFolders(context);
  const plain = plan.video.map((track) => ({ track, path: encodedFile('video', track.id) }));
  const rungs = await withMarks(plain, context);
  const damage = new DamageReader();
  const progress: ProgressReader = new ProgressReader(() =>
    context.reporter.progress(Math.min(1, progress.frames / chunk.frames)),
  );
  const durationSec = framesSec(chunk.frames, plan.grid.rate);
  await runTool(
    encodeChunkCommand(context.program('ffmpeg'), { path: workspaceFiles.source, plan, chunk, rungs }),
    {
      timeoutMs: encodeTimeoutMs(durationSec, Number.POSITIVE_INFINITY),
      silenceMsMax,
      failure: undecodable,
      onStdoutLine: progress.line,
      onStderrLine: damage.line,
    },
    context,
  );
  if (progress.frames !== chunk.frames) {
    const message = `The source is damaged: ${progress.frames} of the ${chunk.frames} frames of a chunk were decoded.`;
    throw new KnownProblem('corrupt_input', message);
  }
  if (plan.hasStoryboard) await makeStoryboard({ ...plan, frames: chunk.frames }, context);
  return { damagedFrames: damage.frames };
}
