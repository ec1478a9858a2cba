/** Colours that a HEIF or AVIF states by number (ISO/IEC 23091-2), in place of a profile. */
export interface HeifColour {
  readonly primaries: number;
  /** The kind of HDR; null for SDR. */
  readonly hdr: 'pq' | 'hlg' | null;
}

/** The number of Display P3's primaries. */
export const displayP3 = 12;
const transfers: Readonly<Record<number, 'pq' | 'hlg'>> = { 16: 'pq', 18: 'hlg' };
/** Length of `colr` and `nclx`, before the numbers of two bytes each. */
const boxHeadBytes = 8;

/**
 * The colours that a HEIF or AVIF states by number; null where it states none.
 *
 * @param head the beginning of the file, which holds its properties
 */
export function heifColourOf(head: Buffer): HeifColour | null {
  const at = head.indexOf('colrnclx', 0, 'latin1') + boxHeadBytes;
  if (at < boxHeadBytes || head.length < at + 4) return null;
  return { primaries: head.readUInt16BE(at), hdr: transfers[head.readUInt16BE(at + 2)] ?? null };
}
