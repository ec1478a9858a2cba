/** A box of ISO base media (ISO/IEC 14496-12, 4.2), without its head. */
export interface Box {
  readonly type: string;
  readonly body: Buffer;
}

/** The boxes that follow one another in `bytes`. @throws RangeError where one is cut off */
export function* boxesIn(bytes: Buffer): Generator<Box> {
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at);
    const headBytes = size === 1 ? 16 : 8;
    // A size of 0 stands for the rest of the file.
    const sizeBytes = size === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : size || bytes.length - at;
    if (sizeBytes < headBytes) throw new RangeError('a box is smaller than its header');
    yield { type: bytes.toString('latin1', at + 4, at + 8), body: bytes.subarray(at + headBytes, at + sizeBytes) };
    at += sizeBytes;
  }
}

/** The body of the first box at a path. @throws RangeError where there is none */
export function bodyOf(bytes: Buffer, [type, ...rest]: readonly string[]): Buffer {
  if (type === undefined) return bytes;
  for (const box of boxesIn(bytes)) if (box.type === type) return bodyOf(box.body, rest);
  throw new RangeError(`no box ${type}`);
}
