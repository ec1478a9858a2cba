import { encode } from 'blurhash';
import type { Placeholder } from '#domain/job-types/shared-results.ts';
import type { Sharp } from '#platform/images/sharp.ts';

/** BlurHash keeps a few waves of the image, so a small copy is enough. */
const sideMax = 32;
/** Waves along the longer and the shorter side. */
const waves = [4, 3] as const;

/** The placeholder that a page shows until the image is there; transparent pixels are white. */
export async function placeholderOf(image: Sharp): Promise<Placeholder> {
  const small = image
    .clone()
    .resize({ width: sideMax, height: sideMax, fit: 'inside' })
    .flatten({ background: '#ffffff' });
  const { data, info } = await small.ensureAlpha().raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const [along, across] = width >= height ? waves : [waves[1], waves[0]];
  return {
    blurhash: encode(new Uint8ClampedArray(data), width, height, along, across),
    dominant_color: dominantColor(data),
  };
}

/** Values of a channel that count as one colour: 16 of them, so there are 4096 colours. */
const step = 16;

/**
 * The middle of the most frequent of 4096 colours, `#rrggbb`. `stats` of sharp has the same, but takes ten times as
 * long as the rest of a placeholder.
 *
 * @param pixels RGBA, 8 bits a channel
 */
function dominantColor(pixels: Buffer): string {
  const counts = new Uint32Array(4096);
  for (let at = 0; at < pixels.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = pixels.subarray(at, at + 3);
    counts[(red >> 4) * 256 + (green >> 4) * 16 + (blue >> 4)]! += 1;
  }
  const most = counts.indexOf(counts.reduce((a, b) => Math.max(a, b)));
  const middles = [most >> 8, (most >> 4) & 15, most & 15].map((level) => level * step + step / 2);
  return `#${middles.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
