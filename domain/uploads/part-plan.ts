/** S3 accepts no more parts of one object. */
export const partsMax = 10_000;
/** The most parts that one answer lists. */
export const listedPartsMax = 1_000;

const mebibyte = 1024 * 1024;
/** S3 accepts parts from 5 MiB on; a client repeats at most this much after an interruption. */
const partSizeMin = 8 * mebibyte;

/** The size of every part but the last, in whole MiB: 8 MiB up to 78 GiB. */
export function partSizeOf(sizeBytes: number): number {
  return Math.max(partSizeMin, Math.ceil(sizeBytes / partsMax / mebibyte) * mebibyte);
}

type Sizes = { readonly sizeBytes: number; readonly partSizeBytes: number };

/** How many parts an upload has; they are numbered from 1. */
export function partCount({ sizeBytes, partSizeBytes }: Sizes): number {
  return Math.ceil(sizeBytes / partSizeBytes);
}

/** The size that part `number` must have; 0 when there is no such part. */
export function sizeOfPart({ sizeBytes, partSizeBytes }: Sizes, number: number): number {
  return Math.max(0, Math.min(partSizeBytes, sizeBytes - (number - 1) * partSizeBytes));
}

/** The numbers of the parts that are not there, or not of their size. */
export function missingParts(
  sizes: Sizes,
  stored: readonly { readonly number: number; readonly sizeBytes: number }[],
): number[] {
  const bytes = new Map(stored.map((part) => [part.number, part.sizeBytes]));
  const numbers = Array.from({ length: partCount(sizes) }, (_, index) => index + 1);
  return numbers.filter((number) => bytes.get(number) !== sizeOfPart(sizes, number));
}
