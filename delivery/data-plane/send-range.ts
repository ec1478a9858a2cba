import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { ByteRange } from '#platform/storage/object-store.ts';
import { readWhole } from '#platform/storage/read-whole.ts';
import type { WriteTurns } from './write-turns.ts';

/**
 * A client that takes nothing for so long is slow. It occupies no connection to the bucket, at whose other end the
 * kernel holds megabytes: hundreds of those slow every connection of a machine.
 */
export const slowMs = 1_000;
/** What is read first, and of a slow client at once; each piece has twice the bytes of the one before. */
const pieceBytes = 256 * 1024;

/** The first part of a range that is read from the bucket. */
export function firstPiece({ start, end }: Required<ByteRange>): Required<ByteRange> {
  return { start, end: Math.min(start + pieceBytes - 1, end) };
}

/** A part of an object on its way to one client, who is charged for it until `close`. */
export interface RangeRead {
  readonly range: Required<ByteRange>;
  /** Of its first piece. */
  readonly body: Readable;
  /** Requests a part of the same version again. Null when there is no such object any more. */
  readonly reopen: (range: ByteRange) => Promise<Readable | null>;
  readonly close: () => void;
}

/**
 * Sends a range as the body of a response whose head was written, each chunk in its turn: the next one is read when a
 * chunk is written. The bucket is asked for more as the client keeps up: hundreds that begin at once take little until
 * they have read it. When a read fails, the response is destroyed, and never ended as if it were whole.
 */
export async function sendRange(response: ServerResponse, read: RangeRead, writes: WriteTurns): Promise<void> {
  try {
    await new RangeSender(response, read, writes).send();
    response.end();
  } catch {
    response.destroy();
  } finally {
    read.close();
  }
}

class RangeSender {
  readonly #response: ServerResponse;
  readonly #read: RangeRead;
  readonly #writes: WriteTurns;
  #body: Readable;
  #position: number;

  constructor(response: ServerResponse, read: RangeRead, writes: WriteTurns) {
    this.#response = response;
    this.#read = read;
    this.#writes = writes;
    this.#body = read.body;
    this.#position = read.range.start;
  }

  async send(): Promise<void> {
    const close = () => this.#body.destroy();
    // `close` is not emitted again for a client that has left already.
    if (this.#response.destroyed) close();
    this.#response.once('close', close);
    const { end } = this.#read.range;
    for (let bytes = pieceBytes; ;) {
      const keepsUp = await (bytes === pieceBytes ? this.#sendPiece() : this.#sendWhileRead());
      if (this.#position > end) return;
      bytes = keepsUp ? bytes * 2 : pieceBytes;
      await this.#hasRoom();
      await this.#open(Math.min(this.#position + bytes - 1, end));
    }
  }

  /** A small piece, whole in memory: its connection to the bucket does not wait for the client. */
  async #sendPiece(): Promise<boolean> {
    await this.#write(await readWhole(this.#body, pieceBytes));
    return this.#hasRoom(slowMs);
  }

  /** False when the client is slow: the connection to the bucket is closed then. */
  async #sendWhileRead(): Promise<boolean> {
    const start = this.#position;
    for await (const chunk of this.#body) {
      await this.#write(chunk as Buffer);
      if (!(await this.#hasRoom(slowMs))) return false;
    }
    if (this.#position === start) throw new Error('the bucket sent nothing');
    return true;
  }

  async #open(end: number): Promise<void> {
    const body = await this.#read.reopen({ start: this.#position, end });
    if (body === null) throw new Error('the object was removed');
    this.#body = body;
    if (this.#response.destroyed) body.destroy();
  }

  /** In a turn of the event loop. @throws Error when the client has left, and when there is nothing to write */
  #write(chunk: Buffer): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#writes.run(() => {
        if (this.#response.destroyed || chunk.length === 0) return reject(new Error('the response ended early'));
        this.#position += chunk.length;
        // Without the cork the system call is made later, outside of the turn.
        this.#response.cork();
        this.#response.write(chunk);
        this.#response.uncork();
        resolve();
      }),
    );
  }

  /** Whether the client has taken what was written, after `waitMs` at most. @throws Error when it has left */
  async #hasRoom(waitMs?: number): Promise<boolean> {
    const response = this.#response;
    if (response.writableNeedDrain && !response.destroyed)
      await new Promise<void>((resolve) => {
        const timer = waitMs === undefined ? undefined : setTimeout(onEnd, waitMs);
        function onEnd(): void {
          clearTimeout(timer);
          response.off('drain', onEnd).off('close', onEnd);
          resolve();
        }
        response.once('drain', onEnd).once('close', onEnd);
      });
    if (response.destroyed) throw new Error('the client has left');
    return !response.writableNeedDrain;
  }
}
