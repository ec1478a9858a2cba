// A GIF whose first frame is smaller than its canvas is transparent around it, in browsers. libvips knows opacity only
// where some frame states a transparent color, and shows black elsewhere.

const headerBytes = 13;
const tableBytes = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/**
 * Whether the first frame of a GIF leaves a part of the canvas free.
 *
 * @param head the beginning of the file; false where the first frame is not in it
 */
export function leavesCanvasFree(head: Buffer): boolean {
  if (head.length < headerBytes) return false;
  for (let at = headerBytes + tableBytes(head[10] ?? 0); at + 9 < head.length;) {
    const block = head[at];
    if (block === 0x2c) {
      const [left, top, width, height] = [1, 3, 5, 7].map((offset) => head.readUInt16LE(at + offset));
      return left !== 0 || top !== 0 || (width ?? 0) < head.readUInt16LE(6) || (height ?? 0) < head.readUInt16LE(8);
    }
    if (block !== 0x21) return false;
    at += 2;
    // Sub-blocks with their lengths, to one without bytes.
    while (at < head.length && head[at] !== 0) at += 1 + (head[at] ?? 0);
    at += 1;
  }
  return false;
}

/** Its control block, its descriptor, a table of two colors, and one transparent pixel. */
const transparentFrame = Buffer.from('21f90401000000002c000000000100010080000000ffffff0202440100', 'hex');
const trailer = 0x3b;

/** The GIF with one more frame at its end, which is transparent; without its end, the GIF as it is. */
export function withTransparentFrame(gif: Buffer): Buffer {
  const end = gif.findLastIndex((byte) => byte !== 0);
  if (gif[end] !== trailer) return gif;
  return Buffer.concat([gif.subarray(0, end), transparentFrame, Buffer.from([trailer])]);
}
