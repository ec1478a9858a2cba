/** Colors that an image states by number (ISO/IEC 23091-2), in place of a profile. */
export interface NumberedColour {
  readonly primaries: number;
  /** The kind of HDR; null for SDR. */
  readonly hdr: 'pq' | 'hlg' | null;
}

/** The number of Display P3's primaries. */
export const displayP3 = 12;
const transfers: Readonly<Record<number, 'pq' | 'hlg'>> = { 16: 'pq', 18: 'hlg' };

/** The colors of the numbers of primaries and of a transfer function. */
export function numberedColour(primaries: number, transfer: number): NumberedColour {
  return { primaries, hdr: transfers[transfer] ?? null };
}

/** Whether libvips, which takes numbers for sRGB, would show other colors. */
export function isNotSrgb(colour: NumberedColour | null): boolean {
  return colour !== null && (colour.primaries === displayP3 || colour.hdr !== null);
}
