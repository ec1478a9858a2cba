import type { ServerResponse } from 'node:http';
import type { Piece } from '#platform/storage/blocks.ts';
import type { ByteRange, Download } from '#platform/storage/object-store.ts';
import { readPieces } from '#platform/storage/read-pieces.ts';
import type { WriteTurns } from './write-turns.ts';

/**
 * A client that takes nothing for so long is slow. It occupies no connection to the bucket, at whose other end the
 * kernel holds megabytes: hundreds of those slow every connection of a machine.
 */
export const slowMs = 1_000;
/** The bytes read first, and at once for a slow client; and those read for one that keeps up: one block of memory. */
const pieceBytes = { min: 256 * 1024, max: 512 * 1024 } as const;

/** The first part of a range that is read from the bucket. */
export function firstPiece({ start, end }: Required<ByteRange>): Required<ByteRange> {
  return { start, end: Math.min(start + pieceBytes.min - 1, end) };
}

/** A part of an object on its way to one client, who is charged for it until `close`. */
export interface RangeRead {
  readonly range: Required<ByteRange>;
  /** The download of its first piece. */
  readonly first: Download;
  /** Requests a part of the same version, or its beginning. Null when there is no such object any more. */
  readonly next: (range: Required<ByteRange>) => Promise<Download | null>;
  readonly close: () => void;
}

/**
 * Sends a range as the body of a response whose head was written, in pieces that are whole in memory: while one is
 * sent, no connection to the bucket waits for the client. The bucket is asked for more as the client keeps up: hundreds
 * that begin at once take little until they have read it. When a read fails, the response is destroyed, and never ended
 * as if it were whole.
 */
export async function sendRange(response: ServerResponse, read: RangeRead, writes: WriteTurns): Promise<void> {
  const left = new AbortController();
  const onClose = () => left.abort(new Error('the client has left'));
  // `close` is not emitted again for a client that has left already.
  if (response.destroyed) onClose();
  response.once('close', onClose);
  try {
    const { end } = read.range;
    let download: Download | null = read.first;
    for (let position = read.range.start; ;) {
      if (download === null) throw new Error('the object was removed');
      const pieces = await readPieces(download, left.signal);
      const sentAtMs = performance.now();
      position += await send(pieces, { response, writes });
      if (position > end) break;
      const bytes = performance.now() - sentAtMs < slowMs ? pieceBytes.max : pieceBytes.min;
      download = await read.next({ start: position, end: Math.min(position + bytes - 1, end) });
    }
    response.end();
  } catch {
    response.destroy();
  } finally {
    read.close();
  }
}

interface Sending {
  readonly response: ServerResponse;
  readonly writes: WriteTurns;
}

/** Writes pieces in a turn of the event loop. Returns how many bytes were taken. @throws Error when the client left */
async function send(pieces: readonly Piece[], { response, writes }: Sending): Promise<number> {
  const sizeBytes = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
  try {
    await new Promise<void>((resolve, reject) => {
      const onClose = () => reject(new Error('the client has left'));
      response.once('close', onClose);
      writes.run(() => {
        if (response.destroyed || pieces.length === 0) {
          onClose();
          return 0;
        }
        // Without the cork the system call is made later, outside of the turn.
        response.cork();
        for (const { bytes } of pieces.slice(0, -1)) response.write(bytes);
        response.write(pieces.at(-1)?.bytes, () => {
          response.off('close', onClose);
          resolve();
        });
        response.uncork();
        return sizeBytes;
      });
    });
    return sizeBytes;
  } finally {
    for (const piece of pieces) piece.release();
  }
}
