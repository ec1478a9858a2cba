/** The number of Display P3's primaries (ISO/IEC 23091-2, "Colour primaries"). */
const displayP3 = 12;
/** Length of `colr` and `nclx`, before the number. */
const boxHeadBytes = 8;

/**
 * Whether a HEIF or AVIF states the primaries of Display P3 by number, in place of a profile.
 *
 * @param head the beginning of the file, which holds its properties
 */
export function statesDisplayP3(head: Buffer): boolean {
  const at = head.indexOf('colrnclx', 0, 'latin1') + boxHeadBytes;
  return at >= boxHeadBytes && head.length >= at + 2 && head.readUInt16BE(at) === displayP3;
}
