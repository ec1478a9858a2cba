import type { Writable } from 'node:stream';

// Messages between the image process and its parent over one pipe: JSON, followed by raw bytes. Node's own channel
// between processes would copy each image several times.
//
//   4 bytes  length of the head, big-endian
//   head     JSON; `sizeBytes` is the number of bytes that follow
//   bytes

/** The head of a frame; its other fields are the caller's. */
interface Head {
  readonly sizeBytes: number;
}

const lengthBytes = 4;

/** Bounds of accepted frames: the other side may be a decoder that an image has taken over. */
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
 * Reads frames out of chunks that may be cut anywhere, and copies them. Returns the function that takes the next chunk;
 * `onFrame` is called with each whole frame.
 *
 * @throws Error, by that function, for a malformed frame or one over a bound; nothing can be read after it
 */
export function frameReader(
  bounds: FrameBounds,
  onFrame: (head: unknown, bytes: Buffer) => void,
): (chunk: Buffer) => void {
  const received: { length: Section; head: Section | null; parsed: unknown; body: Section | null } = begin();
  const take = (chunk: Buffer, from: number): number => {
    if (!received.length.isFull) return received.length.fill(chunk, from);
    received.head ??= new Section(bounded(received.length.bytes.readUInt32BE(), bounds.headBytesMax));
    if (!received.head.isFull) return received.head.fill(chunk, from);
    if (received.body === null) {
      received.parsed = JSON.parse(received.head.bytes.toString('utf8'));
      received.body = new Section(bounded((received.parsed as Head | null)?.sizeBytes, bounds.sizeBytesMax));
    }
    const next = received.body.fill(chunk, from);
    if (received.body.isFull) {
      onFrame(received.parsed, received.body.bytes);
      Object.assign(received, begin());
    }
    return next;
  };
  return (chunk) => {
    // A frame without bytes is complete before the next chunk.
    for (let at = 0; at < chunk.length || (received.head?.isFull === true && received.body === null);)
      at = take(chunk, at);
  };
}

function begin() {
  return { length: new Section(lengthBytes), head: null, parsed: null, body: null };
}

/** A part of a frame, of known length, that comes in chunks. */
class Section {
  readonly bytes: Buffer;
  #filled = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
  }

  get isFull(): boolean {
    return this.#filled === this.bytes.length;
  }

  /** Copies the missing bytes from `chunk`; returns the offset of the rest. */
  fill(chunk: Buffer, from: number): number {
    const copied = chunk.copy(this.bytes, this.#filled, from);
    this.#filled += copied;
    return from + copied;
  }
}

function bounded(length: unknown, max: number): number {
  if (typeof length === 'number' && Number.isInteger(length) && length >= 0 && length <= max) return length;
  throw new RangeError('expected a frame within its bounds');
}
