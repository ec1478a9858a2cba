import type { Readable } from 'node:stream';

/**
 * The bytes of a body that is known to be small; `buffer` of node:stream/consumers costs several times as much.
 *
 * @throws Error when it has more than `bytesMax`
 */
export async function readWhole(body: Readable, bytesMax = Infinity): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    sizeBytes += piece.length;
    if (sizeBytes > bytesMax) throw new Error(`a body has more than ${bytesMax} bytes`);
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}
