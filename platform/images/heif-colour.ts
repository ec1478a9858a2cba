import { bodyOf, boxesIn } from './heif-boxes.ts';
import { type NumberedColour, numberedColour } from './numbered-colour.ts';

/**
 * The colours of a HEIF or AVIF (ISO/IEC 23008-12) by number: of the primary item, else of the first item, which is one
 * of its tiles; null where neither states them. Other items, such as HDR by a gain map, have their own.
 *
 * @param head the beginning of the file, which holds its properties
 */
export function heifColourOf(head: Buffer): NumberedColour | null {
  try {
    const meta = bodyOf(head, ['meta']).subarray(4);
    const properties = [...boxesIn(bodyOf(meta, ['iprp', 'ipco']))];
    const items = propertiesByItem(bodyOf(meta, ['iprp', 'ipma']));
    const primary = idAt(bodyOf(meta, ['pitm']), 4, bodyOf(meta, ['pitm'])[0] ?? 0).id;
    const [first = []] = items.values();
    for (const indexes of [items.get(primary) ?? [], first])
      for (const { type, body } of indexes.flatMap((index) => properties[index - 1] ?? []))
        if (type === 'colr' && body.toString('latin1', 0, 4) === 'nclx')
          return numberedColour(body.readUInt16BE(4), body.readUInt16BE(6));
    return null;
  } catch (error) {
    // A file that is cut off or not as it should be states nothing; its decoder reports it.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * Whether the colors of an image are multiplied by its opacity (ISO/IEC 23008-12, reference type `prem`).
 *
 * @param head the beginning of the file
 */
export function isPremultiplied(head: Buffer): boolean {
  try {
    const references = bodyOf(head, ['meta']).subarray(4);
    return [...boxesIn(bodyOf(references, ['iref']).subarray(4))].some(({ type }) => type === 'prem');
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
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
