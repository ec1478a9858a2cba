/**
 * How a JPEG XL is turned (ISO/IEC 18181-1, "Image header"): the orientation, 1–8 as EXIF counts them, and the bit of
 * the file at which it stands; null where nothing is stated. What EXIF data beside the codestream say does not count.
 */
export function jxlOrientationOf(bytes: Buffer): { readonly orientation: number; readonly atBit: number } | null {
  const codestream = codestreamAt(bytes);
  if (codestream === null) return null;
  const bits = new BitReader(bytes, (codestream + signature.length) * 8);
  skipSize(bits);
  const hasDefaults = bits.read(1) === 1;
  const hasExtraFields = !hasDefaults && bits.read(1) === 1;
  if (!hasExtraFields) return null;
  const atBit = bits.at;
  return { orientation: bits.read(3) + 1, atBit };
}

const signature = Buffer.from([0xff, 0x0a]);

/** Where the codestream begins: with the file, or in a box, which may be the first of its parts. */
function codestreamAt(bytes: Buffer): number | null {
  if (bytes.subarray(0, signature.length).equals(signature)) return 0;
  for (let at = 0; at + 16 <= bytes.length;) {
    const size = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const body = at + (size === 1 ? 16 : 8);
    if (type === 'jxlc') return body;
    // The number of the part comes first.
    if (type === 'jxlp') return body + 4;
    const end = size === 1 ? at + Number(bytes.readBigUInt64BE(at + 8)) : at + size;
    if (end <= at) return null;
    at = end;
  }
  return null;
}

/** Reads bits from the lowest of each byte on; 0 after the end. */
class BitReader {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  read(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit += 1) {
      value += (((this.#bytes[this.at >> 3] ?? 0) >> (this.at & 7)) & 1) * 2 ** bit;
      this.at += 1;
    }
    return value;
  }
}

const sizeBits = [9, 13, 18, 30] as const;

function skipSize(bits: BitReader): void {
  const isSmall = bits.read(1) === 1;
  const skipSide = () => bits.read(isSmall ? 5 : (sizeBits[bits.read(2)] ?? 0));
  skipSide();
  const hasRatio = bits.read(3) !== 0;
  if (!hasRatio) skipSide();
}
