import type { ImageFormat } from '#domain/job-types/image-thumbnail.ts';
import type { Sharp } from '#platform/images/sharp.ts';

/** The longest side that a format can store, in pixels. */
export const sideMaxOf = { webp: 16_383, jpg: 65_535, png: 65_535, avif: 16_384 } as const satisfies Record<
  ImageFormat,
  number
>;

/** Quality as in docs/reference/media.md, "Still images". JPEG has no transparency: transparent pixels become white. */
const encoders = {
  webp: (image) => image.webp({ quality: 80, effort: 4 }),
  jpg: (image) => image.flatten({ background: '#ffffff' }).jpeg({ quality: 82, progressive: true }),
  png: (image) => image.png({ compressionLevel: 9 }),
  avif: (image) => image.avif({ quality: 50 }),
} as const satisfies Record<ImageFormat, (image: Sharp) => Sharp>;

/** Sets the encoder of a stored image. */
export function encodeAs(image: Sharp, format: ImageFormat): Sharp {
  return encoders[format](image);
}
