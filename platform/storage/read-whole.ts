import type { Readable } from 'node:stream';

/** The bytes of a body that is known to be small; `buffer` of node:stream/consumers costs several times as much. */
export async function readWhole(body: Readable): Promise<Buffer> {
  const pieces = (await body.toArray()) as Buffer[];
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}
