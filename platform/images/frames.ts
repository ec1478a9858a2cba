import type { Writable } from 'node:stream';

// What the image process and its starter say to each other over one pipe: a line of JSON and, behind it, bytes as they
// are. Node's own channel between processes would copy each picture several times on its way.
//
//   4 bytes  length of the head, big-endian
//   head     JSON; `sizeBytes` tells how many bytes follow
//   bytes

/** The head of a frame; what else stands in it is the caller's. */
interface Head {
  readonly sizeBytes: number;
}

const lengthBytes = 4;

/** Bounds of what is taken in: the other side may be a decoder that a picture has broken. */
export interface FrameBounds {
  readonly headBytesMax: number;
  readonly sizeBytesMax: number;
}

/** Writes a frame; the bytes behind its head may come in several pieces. */
export function writeFrame(stream: Writable, head: object, pieces: readonly Uint8Array[]): void {
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const text = Buffer.from(JSON.stringify({ ...head, sizeBytes }));
  const prefix = Buffer.allocUnsafe(lengthBytes + text.length);
  prefix.writeUInt32BE(text.length);
  text.copy(prefix, lengthBytes);
  stream.cork();
  for (const part of [prefix, ...pieces]) if (part.length > 0) stream.write(part);
  stream.uncork();
}

/**
 * Reads frames out of chunks, which may be cut anywhere and are copied from: `onFrame` is called with each that is
 * whole. The function that it returns takes the next chunk.
 *
 * @throws Error, by that function, for a frame that is none or is over a bound; nothing can be read after it
 */
export function frameReader(
  bounds: FrameBounds,
  onFrame: (head: unknown, bytes: Buffer) => void,
): (chunk: Buffer) => void {
  const come: { length: Part; head: Part | null; parsed: unknown; body: Part | null } = begin();
  const take = (chunk: Buffer, from: number): number => {
    if (!come.length.isFull) return come.length.fill(chunk, from);
    come.head ??= new Part(bounded(come.length.bytes.readUInt32BE(), bounds.headBytesMax));
    if (!come.head.isFull) return come.head.fill(chunk, from);
    if (come.body === null) {
      come.parsed = JSON.parse(come.head.bytes.toString('utf8'));
      come.body = new Part(bounded((come.parsed as Head | null)?.sizeBytes, bounds.sizeBytesMax));
    }
    const next = come.body.fill(chunk, from);
    if (come.body.isFull) {
      onFrame(come.parsed, come.body.bytes);
      Object.assign(come, begin());
    }
    return next;
  };
  return (chunk) => {
    // A frame without bytes is whole before anything of the next has come.
    for (let at = 0; at < chunk.length || (come.head?.isFull === true && come.body === null);) at = take(chunk, at);
  };
}

function begin() {
  return { length: new Part(lengthBytes), head: null, parsed: null, body: null };
}

/** A piece of known length that comes in chunks. */
class Part {
  readonly bytes: Buffer;
  #filled = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
  }

  get isFull(): boolean {
    return this.#filled === this.bytes.length;
  }

  /** Takes what it lacks from `chunk`; where the rest begins. */
  fill(chunk: Buffer, from: number): number {
    const copied = chunk.copy(this.bytes, this.#filled, from);
    this.#filled += copied;
    return from + copied;
  }
}

function bounded(length: unknown, max: number): number {
  if (typeof length === 'number' && Number.isInteger(length) && length >= 0 && length <= max) return length;
  throw new RangeError('a frame is none, or too large');
}
