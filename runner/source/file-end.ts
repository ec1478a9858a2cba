import { type FileHandle, open } from 'node:fs/promises';

/*
 * Whether a file was cut off: its last box, element or tag reaches beyond the end of the file. Lengths in headers do
 * not show that: muxers estimate them, leave them out, or copy them from another file.
 */

interface File {
  readonly sizeBytes: number;
  /** Bytes at an offset; fewer at the end of the file. */
  readonly read: (at: number, length: number) => Promise<Buffer>;
}

/** A container whose parts follow one another: where the part at an offset ends; null where its size is not stated. */
type EndOfPart = (file: File, at: number) => Promise<number | null>;

/** A recording of 12 hours in fragments of a second has 86,400. */
const partsMax = 200_000;

async function isCutBy(endOfPart: EndOfPart, file: File): Promise<boolean> {
  let at = 0;
  for (let parts = 0; at < file.sizeBytes && parts < partsMax; parts += 1) {
    const end = await endOfPart(file, at);
    if (end === null || end <= at) return false;
    at = end;
  }
  return at > file.sizeBytes;
}

/** ISO/IEC 14496-12, 4.2: a size of 1 stands for one of 64 bits, 0 for the rest of the file. */
const boxEnd: EndOfPart = async (file, at) => {
  const head = await file.read(at, 16);
  if (head.length < 8) return null;
  const size = head.readUInt32BE(0);
  if (size > 1) return at + size;
  return size === 1 && head.length === 16 ? at + Number(head.readBigUInt64BE(8)) : null;
};

/** Matroska: the EBML header and the segment, whose size is all ones where it is not known. */
const elementEnd: EndOfPart = async (file, at) => {
  const head = await file.read(at, 12);
  const idLength = 1 + Math.clz32((head[0] ?? 0) << 24);
  const sizeLength = 1 + Math.clz32((head[idLength] ?? 0) << 24);
  const size = head.subarray(idLength, idLength + sizeLength);
  if (idLength > 4 || sizeLength > 8 || size.length < sizeLength) return null;
  const value = BigInt(`0x${size.toString('hex')}`) & ((1n << BigInt(7 * sizeLength)) - 1n);
  const isUnknown = value === (1n << BigInt(7 * sizeLength)) - 1n;
  return isUnknown ? null : at + idLength + sizeLength + Number(value);
};

/** MXF: a key of 16 bytes, and the length in BER. */
const klvEnd: EndOfPart = async (file, at) => {
  const head = await file.read(at, 25);
  const first = head[16];
  if (first === undefined) return null;
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (lengthBytes === 0) return at + 17 + first;
  const length = head.subarray(17, 17 + lengthBytes);
  return lengthBytes > 8 || length.length < lengthBytes
    ? null
    : at + 17 + lengthBytes + Number(`0x${length.toString('hex')}`);
};

const tagHeadBytes = 11;
const tagTypes = [8, 9, 18];

/** FLV: the size of each tag stands behind it, so the last one is found from the end. */
async function isCutInTag({ sizeBytes, read }: File): Promise<boolean> {
  if (sizeBytes < tagHeadBytes) return true;
  const sizeAt = sizeBytes - 4;
  const size = (await read(sizeAt, 4)).readUInt32BE(0);
  if (size < tagHeadBytes || size > sizeAt) return true;
  const head = await read(sizeAt - size, 4);
  return !tagTypes.includes(head[0] ?? 0) || tagHeadBytes + head.readUIntBE(1, 3) !== size;
}

/** Fragments differ in length; that they differ by more is rare. */
const fragmentRatioMax = 1.5;

/**
 * MP4: a recorder that writes fragments loses the last one alone when it stops working, which is what fragments are
 * for. Such a file is cut off where it lacks more.
 */
async function isCutInBox(file: File, missingShare: number): Promise<boolean> {
  let fragments = 0;
  const counted: EndOfPart = async (of, at) => {
    if ((await of.read(at + 4, 4)).toString('latin1') === 'moof') fragments += 1;
    return boxEnd(of, at);
  };
  const isCut = await isCutBy(counted, file);
  return isCut && (fragments === 0 || missingShare * fragments > fragmentRatioMax);
}

const checks: Readonly<Record<string, (file: File, missingShare: number) => Promise<boolean>>> = {
  mov: isCutInBox,
  mxf: async (file) => isCutBy(klvEnd, file),
  matroska: async (file) => isCutBy(elementEnd, file),
  flv: isCutInTag,
  // The number of samples stands beside their checksum and is exact.
  flac: async () => true,
};

/**
 * Whether the file at `path` ends early, as far as its container shows that. ffmpeg ignores the length in the header of
 * an AVI or ASF file without its end.
 *
 * @param missingShare how much of the length that it states is not there
 */
export async function isCutOff(path: string, container: string, missingShare: number): Promise<boolean> {
  const check = checks[container];
  if (check === undefined) return false;
  await using handle = await open(path);
  const { size: sizeBytes } = await handle.stat();
  return await check({ sizeBytes, read: readerOf(handle) }, missingShare);
}

function readerOf(handle: FileHandle): File['read'] {
  return async (at, length) => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, Math.max(0, at));
    return buffer.subarray(0, bytesRead);
  };
}
