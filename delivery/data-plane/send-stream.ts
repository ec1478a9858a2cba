import type { ServerResponse } from 'node:http';
import { type Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WriteTurns } from './write-turns.ts';

/**
 * Sends a stream as the body of a response whose head was written, each chunk in its turn: the next one is read when a
 * chunk is written. When the stream fails, the response is destroyed, and never ended as if it were whole.
 */
export async function sendStream(response: ServerResponse, body: Readable, writes: WriteTurns): Promise<void> {
  const inTurns = new Writable({
    // One chunk waits for its turn, and none behind it.
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, onWritten) =>
      writes.run(() => {
        if (response.destroyed) {
          inTurns.destroy();
          return;
        }
        // Without the cork the system call is made later, outside of the turn.
        response.cork();
        const hasRoom = response.write(chunk);
        response.uncork();
        if (hasRoom) onWritten();
        else response.once('drain', () => onWritten());
      }),
    final: (onEnded) => void response.end(() => onEnded()),
  });
  // A client that has left: the body is closed with it.
  response.once('close', () => inTurns.destroy());
  try {
    await pipeline(body, inTurns);
  } catch {
    response.destroy();
  }
}
