import { link, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { framePixelsMax } from '#domain/media/frame-size.ts';
import { asProblem } from '#domain/resource-problem.ts';
import type { Command } from '#platform/commands/command.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { quietArgs } from '../tools/ffmpeg.ts';
import { probeTimeoutMs, runTool } from '../tools/run-tool.ts';

/*
 * ffmpeg before 8 cannot decode animated WebP. libvips can: its frames become PNG images in a MOV with the same times,
 * which replaces the source.
 */

const files = {
  original: 'source.webp',
  frames: 'webp-frames',
  list: 'webp-frames/list',
  video: 'source.mov',
} as const;
const headBytes = 32;
/**
 * Pixels of all frames together. Decoding as many takes 45 s of processor time, and twice as many take four times as
 * long, since each batch decodes all frames before it.
 */
const allPixelsMax = 400_000_000;
const framesMax = 10_000;
/** As browsers do. */
const delayMsOf = (stated: number | undefined) => (stated === undefined || stated <= 10 ? 100 : stated);

const damaged = { code: 'corrupt_input', message: 'The animated WebP is damaged and cannot be decoded.' } as const;

const broken = (thrown: unknown): never => {
  const problem = asProblem(thrown);
  if (isJobProblem(problem)) throw problem;
  throw new KnownProblem(damaged.code, damaged.message, { cause: thrown });
};

/** Whether a file that begins with `head` is a WebP with frames: the extended form, with its flag for animation. */
function isAnimatedWebp(head: Buffer): boolean {
  const [form, flags = 0] = [head.toString('latin1', 0, 4) + head.toString('latin1', 8, 16), head[20]];
  return form === 'RIFFWEBPVP8X' && (flags & 0x02) !== 0;
}

/**
 * Replaces the source by a video when it is an animated WebP.
 *
 * @returns the size of the WebP in bytes; null for any other source
 * @throws KnownProblem `corrupt_input`, `limit_exceeded`, `resource_exhausted`, `deadline_exceeded`
 */
export async function replaceAnimatedWebp(context: StepContext): Promise<number | null> {
  const [source, original] = [context.workspace.at(workspaceFiles.source), context.workspace.at(files.original)];
  if (!isAnimatedWebp(await readHead(source))) {
    // An earlier run in this workspace may have replaced it.
    const before = await stat(original).catch(() => null);
    return before?.size ?? null;
  }
  const { size } = await stat(source);
  await mkdir(context.workspace.at(files.frames), { recursive: true });
  const delaysMs = await writeFrames(source, context);
  await runTool(
    videoCommand(context.program('ffmpeg'), delaysMs),
    { timeoutMs: probeTimeoutMs, failure: damaged },
    context,
  );
  await rm(context.workspace.at(files.frames), { recursive: true });
  await rm(original, { force: true });
  await link(source, original);
  await rename(context.workspace.at(files.video), source);
  return size;
}

/** Writes each frame as a PNG, and the list of them for ffmpeg. @returns how long each is shown, in milliseconds */
async function writeFrames(source: string, { workspace, signal }: StepContext): Promise<number[]> {
  // Other videos need no libvips here.
  const { sharp } = await import('#platform/images/sharp.ts');
  const reading = { limitInputPixels: false, failOn: 'error' } as const;
  const { width, height, pages = 1, delay = [] } = await sharp(source, reading).metadata().catch(broken);
  const pixels = width * height;
  if (pixels > framePixelsMax || pixels * pages > allPixelsMax || pages > framesMax) {
    const limits = `${framePixelsMax / 1e6} megapixels, ${framesMax} frames or ${allPixelsMax / 1e6} megapixels in all`;
    throw new KnownProblem('limit_exceeded', `The animated WebP has more than ${limits}.`);
  }
  const batch = Math.max(1, Math.floor(framePixelsMax / pixels));
  for (let first = 0; first < pages; first += batch) {
    const count = Math.min(batch, pages - first);
    const image = sharp(source, { ...reading, page: first, pages: count }).toColourspace('srgb');
    const raw = await image.flatten({ background: '#000' }).raw().toBuffer().catch(broken);
    for (let index = 0; index < count; index++) {
      signal.throwIfAborted();
      const frame = raw.subarray(index * pixels * 3, (index + 1) * pixels * 3);
      const png = sharp(frame, { raw: { width, height, channels: 3 } }).png({ compressionLevel: 1 });
      await png.toFile(workspace.at(join(files.frames, `${first + index}.png`)));
    }
  }
  const delaysMs = Array.from({ length: pages }, (_, index) => delayMsOf(delay[index]));
  await writeFile(workspace.at(files.list), listOf(delaysMs));
  return delaysMs;
}

function listOf(delaysMs: readonly number[]): string {
  const entries = delaysMs.map(
    (ms, index) => `file ${index}.png\noption framerate 1000\nduration ${(ms / 1000).toFixed(3)}\n`,
  );
  return ['ffconcat version 1.0\n', ...entries].join('');
}

/** Puts the PNG images into a MOV as they are. The list gives their times, but not how long the last one is shown. */
function videoCommand(program: string, delaysMs: readonly number[]): Command {
  const last = `setts=duration=if(eq(N\\,${delaysMs.length - 1})\\,${delaysMs.at(-1)}\\,DURATION)`;
  const guard = ['-protocol_whitelist', 'file', '-format_whitelist', 'concat,image2,png_pipe'];
  const input = [...guard, '-f', 'concat', '-safe', '0', '-i', files.list, '-map', '0:v'];
  const output = ['-c', 'copy', '-bsf:v', last, '-video_track_timescale', '1000', '-f', 'mov', files.video];
  return { program, args: [...quietArgs, ...input, ...output] };
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return buffer.subarray(0, bytesRead);
}
