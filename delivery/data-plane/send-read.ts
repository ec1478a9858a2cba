import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Piece } from '#platform/storage/blocks.ts';
import type { ObjectInfo } from '#platform/storage/object-store.ts';
import type { MediaReader } from './media-reader.ts';
import { sendRange } from './send-range.ts';
import type { WriteTurns } from './write-turns.ts';
import type { ReadCursor, CoalescedRead } from './coalesced-read.ts';

interface Sending {
  /** The first byte, and the one after the last. */
  readonly start: number;
  readonly end: number;
  /** For the rest, when the read fails or its memory is released meanwhile. */
  readonly media: MediaReader;
  readonly writes: WriteTurns;
}

/**
 * Sends a read as the body of a response whose head was written. When the read fails, the rest is requested once more;
 * when that fails too, the response is destroyed, and never ended as if it were whole.
 */
export function sendRead(response: ServerResponse, read: CoalescedRead, sending: Sending): void {
  // A client may have left while the read was opened; `close` is not emitted again.
  if (!response.destroyed) new ReadSender(response, read, sending).pump();
}

/** Gets the bytes that were written for a response. */
export type OnSent = (request: IncomingMessage, response: ServerResponse, bytes: number) => void;

/** Begins to count the bytes of a response; its caller calls the result when the response ends or its client leaves. */
export function sentWatch(onSent: OnSent, request: IncomingMessage, response: ServerResponse): () => void {
  const { socket } = request;
  const before = socket.bytesWritten;
  return () => onSent(request, response, Math.max(0, socket.bytesWritten - before));
}

class ReadSender {
  readonly #response: ServerResponse;
  readonly #cursor: ReadCursor;
  readonly #info: ObjectInfo;
  readonly #sending: Sending;
  #underWay: readonly Piece[] = [];
  /** For its turn to write. */
  #isWaiting = false;
  #hasEnded = false;

  constructor(response: ServerResponse, read: CoalescedRead, sending: Sending) {
    this.#response = response;
    this.#info = read.info;
    this.#sending = sending;
    this.#cursor = read.join(sending, () => this.pump(true));
    response.once('close', () => this.#stop());
  }

  pump(isFresh = false): void {
    if (this.#hasEnded || this.#isWaiting || this.#underWay.length > 0) return;
    this.#isWaiting = true;
    const { writes } = this.#sending;
    const write = () => {
      this.#isWaiting = false;
      return this.#hasEnded ? 0 : this.#write();
    };
    if (isFresh) writes.runFresh(write);
    else writes.run(write);
  }

  /** Returns the bytes that were written. */
  #write(): number {
    const before = this.#cursor.position;
    const taken = this.#cursor.take();
    const last = taken.at(-1);
    if (last !== undefined) {
      this.#underWay = taken.map(({ piece }) => piece);
      // One system call for all of them, the head of the response among them.
      this.#response.cork();
      for (const { bytes } of taken) if (bytes !== last.bytes) this.#response.write(bytes);
      if (this.#cursor.isDone) this.#response.end(last.bytes, () => this.#onSent());
      else this.#response.write(last.bytes, () => this.#onSent());
      this.#response.uncork();
      this.#cursor.taken();
    } else if (this.#cursor.isDone) {
      this.#stop();
      this.#response.end();
    } else if (this.#cursor.state === 'failed' || this.#cursor.state === 'released') void this.#sendRest();
    return this.#cursor.position - before;
  }

  #onSent(): void {
    for (const piece of this.#underWay) piece.release();
    this.#underWay = [];
    if (this.#cursor.isDone) this.#stop();
    else this.pump();
  }

  async #sendRest(): Promise<void> {
    const { media, writes, end } = this.#sending;
    const { key, etag, sizeBytes } = this.#info;
    const range = { start: this.#cursor.position, end: Math.min(end, sizeBytes) - 1 };
    this.#stop();
    try {
      const rest = await media.openRange(key, { range, ifMatch: etag }, this.#response.req);
      if (rest === null) this.#response.destroy();
      else await sendRange(this.#response, rest, writes);
    } catch {
      this.#response.destroy();
    }
  }

  /** Called when all is sent and when the client has left. */
  #stop(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const piece of this.#underWay) piece.release();
    this.#underWay = [];
    this.#cursor.leave();
  }
}
