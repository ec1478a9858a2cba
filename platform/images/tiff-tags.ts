/** The tags of a TIFF's first directory (TIFF 6.0, "Image File Directory"; BigTIFF has wider numbers). */
export interface TiffTags {
  /** 1–8, as EXIF counts them. */
  readonly orientation: number;
  /** Where the orientation stands in the file; null when it is not stated. */
  readonly orientationAt: number | null;
  /** Where the place of the next page's directory stands; null when that is not in the file. */
  readonly nextPage: { readonly at: number; readonly bytes: 4 | 8 } | null;
  /** The directory describes a preview, as in the raw files of cameras, or the file is a DNG. */
  readonly isCameraRaw: boolean;
  /** Samples are floating-point numbers. */
  readonly isFloat: boolean;
}

const tag = { subfileType: 254, orientation: 274, sampleFormat: 339, dngVersion: 50_706 } as const;
const floatFormats = [3, 6];
const reducedImageBit = 1;

/** @throws RangeError when the directory is not in the file */
export function readTiffTags(bytes: Buffer): TiffTags {
  const isLittle = bytes[0] === 0x49;
  const u16 = (at: number) => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const u32 = (at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const u64 = (at: number) => Number(isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
  const isBig = u16(2) === 43;
  const directory = isBig ? u64(8) : u32(4);
  const count = isBig ? u64(directory) : u16(directory);
  const [entriesAt, entryBytes, valueAt] = isBig ? [directory + 8, 20, 12] : [directory + 2, 12, 8];
  const values = new Map<number, number>();
  for (let index = 0; index < Math.min(count, 0xff_ff); index += 1) {
    const at = entriesAt + index * entryBytes;
    values.set(u16(at), at + valueAt);
  }
  const offsetOf = (number: number) => values.get(number) ?? null;
  const short = (number: number, absent: number) => {
    const at = offsetOf(number);
    return at === null ? absent : u16(at);
  };
  // Several samples have their formats elsewhere in the file, a fixed length for each.
  const formatAt = offsetOf(tag.sampleFormat);
  const formatCount = formatAt === null ? 0 : isBig ? u64(formatAt - 8) : u32(formatAt - 4);
  const isInline = formatCount <= (isBig ? 4 : 2);
  const format = formatAt === null ? 1 : u16(isInline ? formatAt : isBig ? u64(formatAt) : u32(formatAt));
  const nextPageAt = entriesAt + count * entryBytes;
  const nextPageBytes = isBig ? 8 : 4;
  return {
    nextPage: nextPageAt + nextPageBytes <= bytes.length ? { at: nextPageAt, bytes: nextPageBytes } : null,
    orientation: short(tag.orientation, 1),
    orientationAt: offsetOf(tag.orientation),
    isCameraRaw: offsetOf(tag.dngVersion) !== null || (longAt(offsetOf(tag.subfileType), u32) & reducedImageBit) !== 0,
    isFloat: floatFormats.includes(format),
  };
}

function longAt(at: number | null, u32: (at: number) => number): number {
  return at === null ? 0 : u32(at);
}

/** Sets the orientation to 1, for a decoder that applies it to some compressions alone. */
export function clearOrientation(bytes: Buffer, { orientationAt }: TiffTags): void {
  if (orientationAt !== null) bytes.set(bytes[0] === 0x49 ? [1, 0] : [0, 1], orientationAt);
}

/** Makes the first page the last one, for a decoder that fails where another is damaged; false where it is already. */
export function clearNextPage(bytes: Buffer, { nextPage }: TiffTags): boolean {
  if (nextPage === null) return false;
  const place = bytes.subarray(nextPage.at, nextPage.at + nextPage.bytes);
  const hasNext = place.some((byte) => byte !== 0);
  place.fill(0);
  return hasNext;
}
