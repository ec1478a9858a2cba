/** Colours that a HEIF or AVIF states by number (ISO/IEC 23091-2), in place of a profile. */
export interface HeifColour {
  readonly primaries: number;
  /** The kind of HDR; null for SDR. */
  readonly hdr: 'pq' | 'hlg' | null;
}

/** The number of Display P3's primaries. */
export const displayP3 = 12;
const transfers: Readonly<Record<number, 'pq' | 'hlg'>> = { 16: 'pq', 18: 'hlg' };

/**
 * The colours of a HEIF or AVIF (ISO/IEC 23008-12) by number: of the primary item, else of the first item, which is one
 * of its tiles; null where neither states them. Other items, such as HDR by a gain map, have their own.
 *
 * @param head the beginning of the file, which holds its properties
 */
export function heifColourOf(head: Buffer): HeifColour | null {
  try {
    const meta = bodyOf(head, ['meta']).subarray(4);
    const properties = [...boxesIn(bodyOf(meta, ['iprp', 'ipco']))];
    const items = propertiesByItem(bodyOf(meta, ['iprp', 'ipma']));
    const primary = idAt(bodyOf(meta, ['pitm']), 4, bodyOf(meta, ['pitm'])[0] ?? 0).id;
    const [first = []] = items.values();
    for (const indexes of [items.get(primary) ?? [], first])
      for (const { type, body } of indexes.flatMap((index) => properties[index - 1] ?? []))
        if (type === 'colr' && body.toString('latin1', 0, 4) === 'nclx')
          return { primaries: body.readUInt16BE(4), hdr: transfers[body.readUInt16BE(6)] ?? null };
    return null;
  } catch (error) {
    // A file that is cut off or not as it should be states nothing; its decoder reports it.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

interface Box {
  readonly type: string;
  readonly body: Buffer;
}

/** @throws RangeError where a box is cut off */
function* boxesIn(bytes: Buffer): Generator<Box> {
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at);
    const [headBytes, sizeBytes] = size === 1 ? [16, Number(bytes.readBigUInt64BE(at + 8))] : [8, size];
    if (sizeBytes < headBytes) throw new RangeError('a box is smaller than its header');
    yield { type: bytes.toString('latin1', at + 4, at + 8), body: bytes.subarray(at + headBytes, at + sizeBytes) };
    at += sizeBytes;
  }
}

/** The body of the first box at a path. @throws RangeError where there is none */
function bodyOf(bytes: Buffer, [type, ...rest]: readonly string[]): Buffer {
  if (type === undefined) return bytes;
  for (const box of boxesIn(bytes)) if (box.type === type) return bodyOf(box.body, rest);
  throw new RangeError(`no box ${type}`);
}

/** Numbers of items have two or four bytes, by the version of their box. */
function idAt(bytes: Buffer, at: number, isLong: number): { id: number; next: number } {
  return isLong > 0 ? { id: bytes.readUInt32BE(at), next: at + 4 } : { id: bytes.readUInt16BE(at), next: at + 2 };
}

/** The places of each item's properties, from 1, by an `ipma` box. */
function propertiesByItem(ipma: Buffer): Map<number, number[]> {
  const [version = 0, flags = 0] = [ipma[0], ipma[3]];
  const items = new Map<number, number[]>();
  let at = 8;
  for (let left = ipma.readUInt32BE(4); left > 0; left -= 1) {
    const { id, next } = idAt(ipma, at, version);
    const count = ipma.readUInt8(next);
    at = next + 1;
    // The first bit says that a reader has to know the property.
    const bytes = (flags & 1) + 1;
    items.set(
      id,
      Array.from(
        { length: count },
        (_, index) => ipma.readUIntBE(at + index * bytes, bytes) & (bytes === 2 ? 0x7fff : 0x7f),
      ),
    );
    at += count * bytes;
  }
  return items;
}
