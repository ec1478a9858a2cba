import { type NumberedColour, numberedColour } from './numbered-colour.ts';

const signatureBytes = 8;

/**
 * The colors of a PNG by number (`cICP`, Portable Network Graphics, third edition, 11.3.2.6), which count more than a
 * profile; null where it states none.
 *
 * @param head the beginning of the file; the chunk stands before the pixels
 */
export function pngColourOf(head: Buffer): NumberedColour | null {
  for (let at = signatureBytes; at + 12 <= head.length; at += 12 + head.readUInt32BE(at)) {
    const type = head.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') return null;
    if (type === 'cICP') return numberedColour(head[at + 8] ?? 0, head[at + 9] ?? 0);
  }
  return null;
}
