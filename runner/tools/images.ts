import sharp, { type Sharp } from 'sharp';
import type { ImageFormat } from '#domain/job-types/image-thumbnail.ts';

/**
 * sharp, closed to everything but the loaders of a few raster formats: no SVG, no PDF, no ImageMagick, no format that
 * names other files. Importing this module is what closes it, for the whole process.
 */
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegFile',
    'VipsForeignLoadPngFile',
    'VipsForeignLoadWebpFile',
    'VipsForeignLoadHeifFile',
    'VipsForeignLoadNsgifFile',
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadHeifBuffer',
    'VipsForeignLoadNsgifBuffer',
  ],
});
sharp.cache(false);

/** 100 megapixels (decisions.md). */
export const imagePixelsMax = 100_000_000;

/** What a format can hold on a side, in pixels. */
export const sideMaxOf = { webp: 16_383, jpg: 65_535, png: 65_535, avif: 16_384 } as const satisfies Record<
  ImageFormat,
  number
>;

/** Quality as decisions.md has it. JPEG has no transparency; what shows through is white, as on a page. */
const encoders = {
  webp: (image) => image.webp({ quality: 80, effort: 4 }),
  jpg: (image) => image.flatten({ background: '#ffffff' }).jpeg({ quality: 82, progressive: true }),
  png: (image) => image.png({ compressionLevel: 9 }),
  avif: (image) => image.avif({ quality: 50 }),
} as const satisfies Record<ImageFormat, (image: Sharp) => Sharp>;

/** Sets the encoder of a stored picture. */
export function encodeAs(image: Sharp, format: ImageFormat): Sharp {
  return encoders[format](image);
}

export { sharp };
