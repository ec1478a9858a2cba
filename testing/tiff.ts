/** One page of an uncompressed TIFF: samples row by row. */
export interface TiffPage {
  readonly width: number;
  readonly height: number;
  readonly samples: Buffer;
  /** TIFF 6.0: 2 is RGB, 5 CMYK. */
  readonly photometric: 2 | 5;
  /** By default 8. */
  readonly bits?: number;
  /** Channels besides the colours; by default 0. */
  readonly extraChannels?: number;
  /** Further tags of one SHORT. */
  readonly tags?: Readonly<Record<number, number>>;
}

const short = 3;
const long = 4;

/** A TIFF as no library writes it: big-endian, with exact inks, several pages, or tags of other programs. */
export function tiff(...pages: readonly TiffPage[]): Buffer {
  const header = Buffer.from('MM\0*\0\0\0\x08', 'latin1');
  const parts: Buffer[] = [header];
  let at = header.length;
  for (const [index, page] of pages.entries()) {
    const { width, height, samples, photometric, bits = 8, extraChannels = 0, tags = {} } = page;
    const perPixel = (photometric === 5 ? 4 : 3) + extraChannels;
    const fixed = { 256: width, 257: height, 259: 1, 262: photometric, 277: perPixel, 278: height };
    const shorts = Object.entries({ ...fixed, ...tags }).map(([tag, value]) => [Number(tag), short, 1, value] as const);
    const entryCount = shorts.length + 3;
    const bitsAt = at + 2 + entryCount * 12 + 4;
    const dataAt = bitsAt + 2 * perPixel;
    const pointers = [[258, short, perPixel, bitsAt] as const, [273, long, 1, dataAt] as const];
    const entries = [...shorts, ...pointers, [279, long, 1, samples.length] as const].toSorted(([a], [b]) => a - b);
    const directory = Buffer.alloc(dataAt - at);
    directory.writeUInt16BE(entryCount);
    for (const [row, [tag, type, count, value]] of entries.entries()) {
      directory.writeUInt16BE(tag, 2 + row * 12);
      directory.writeUInt16BE(type, 4 + row * 12);
      directory.writeUInt32BE(count, 6 + row * 12);
      if (type === short && count === 1) directory.writeUInt16BE(value, 10 + row * 12);
      else directory.writeUInt32BE(value, 10 + row * 12);
    }
    const next = dataAt + samples.length;
    directory.writeUInt32BE(index === pages.length - 1 ? 0 : next, 2 + entryCount * 12);
    for (let sample = 0; sample < perPixel; sample += 1) directory.writeUInt16BE(bits, bitsAt - at + 2 * sample);
    parts.push(directory, samples);
    at = next;
  }
  return Buffer.concat(parts);
}
