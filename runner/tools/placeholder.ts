import { encode } from 'blurhash';
import type { Placeholder } from '#domain/job-types/shared-results.ts';
import { type Sharp, sharp } from '#platform/images/sharp.ts';

/** BlurHash keeps a few waves of the picture, so a small copy is enough. */
const sideMax = 64;
/** Waves along the longer and the shorter side. */
const waves = [4, 3] as const;

/** What a page shows until the image is there; transparent pixels are white. */
export async function placeholderOf(image: Sharp): Promise<Placeholder> {
  const small = image
    .clone()
    .resize({ width: sideMax, height: sideMax, fit: 'inside' })
    .flatten({ background: '#ffffff' });
  const { data, info } = await small.ensureAlpha().raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const [along, across] = width >= height ? waves : [waves[1], waves[0]];
  const { dominant } = await sharp(data, { raw: { width, height, channels: 4 } }).stats();
  const hex = [dominant.r, dominant.g, dominant.b].map((value) => value.toString(16).padStart(2, '0')).join('');
  return { blurhash: encode(new Uint8ClampedArray(data), width, height, along, across), dominant_color: `#${hex}` };
}
