import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { FrameSize } from '#domain/media/frame-size.ts';
import type { Rung } from '#domain/media/ladder.ts';
import { type Rational, showRational } from '#domain/media/rational.ts';
import { type Place, placeWatermark } from '#domain/media/watermark.ts';
import { sharp } from '#platform/images/sharp.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';

/** The watermark of a rung: a PNG of the workspace that has its size and opacity, and where it lies. */
export interface Mark extends Place {
  readonly path: string;
}

const pixelsMax = 2048 * 2048;

/** Draws the watermark of the profile for each rung, where the profile has one. */
export async function withMarks(
  rungs: readonly { readonly track: Rung; readonly path: string }[],
  { profile, workspace }: StepContext,
): Promise<{ readonly track: Rung; readonly path: string; readonly mark?: Mark }[]> {
  const { watermark } = profile;
  if (watermark === null) return [...rungs];
  const png = Buffer.from(watermark.png, 'base64');
  const draw = async (size: FrameSize, id: string): Promise<Mark> => {
    const image = sharp(png, { limitInputPixels: pixelsMax });
    const place = placeWatermark(await image.metadata(), size, watermark);
    const path = join(workspaceFiles.made, `watermark_${id}.png`);
    // By itself first: in one pipeline, a grey image becomes a coloured one after `linear`.
    const { data, info } = await image
      .toColourspace('srgb')
      .ensureAlpha()
      .resize(place.width, place.height, { fit: 'fill' })
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    await sharp(data, { raw: { width: info.width, height: info.height, channels: 4 } })
      .linear([1, 1, 1, watermark.opacity], [0, 0, 0, 0])
      .png()
      .toFile(workspace.at(path));
    return { ...place, path };
  };
  try {
    const marked = [];
    for (const rung of rungs) marked.push({ ...rung, mark: await draw(rung.track, rung.track.id) });
    return marked;
  } catch (cause) {
    throw new KnownProblem('internal', 'The watermark of the profile cannot be decoded.', { cause });
  }
}

/**
 * Opens the watermarks as inputs, from number 1 on, at the rate of the stream: another rate would change its time base.
 */
export function markInputArgs(rungs: readonly { readonly mark?: Mark }[], rate: Rational): string[] {
  const open = ['-protocol_whitelist', 'file', '-f', 'png_pipe', '-framerate', showRational(rate), '-i'];
  return rungs.flatMap(({ mark }) => (mark === undefined ? [] : [...open, mark.path]));
}

/** Filters that lay input `number` over the frames of `branch`, which are SDR in BT.709, and give them to `out`. */
export function markGraph({ x, y }: Mark, number: number, { branch, out }: { branch: string; out: string }): string {
  const toStream = [
    'scale=flags=bicubic+accurate_rnd+full_chroma_int:out_color_matrix=bt709:out_range=limited',
    'format=yuva420p',
    'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited',
  ];
  const overlay = `overlay=x=${x}:y=${y}:format=yuv420:eof_action=repeat`;
  return `[${number}:v]${toStream.join(',')}[mark${number}];[${branch}][mark${number}]${overlay}[${out}]`;
}
