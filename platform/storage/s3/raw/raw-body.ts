import { KnownProblem } from '#domain/errors.ts';
import type { Block, BlockPool, Piece } from '../../blocks.ts';
import type { Download, ObjectInfo, PieceReceiver } from '../../object-store.ts';

/** A block that is not full is handed on after this: each piece costs as much as its sending. */
const handOnAfterMs = 25;

/** The connection that a body comes from. */
export interface RawSource {
  readonly shared: {
    readonly blocks: BlockPool;
    /** As of the last tick. */
    readonly nowMs: number;
  };
  /** A receiver is there: the connection is resumed, and completes the body if all of it has come. */
  onStarted(): void;
  pause(): void;
  resume(): void;
  /** Closes the connection; the body hears of it by `fail`. */
  close(): void;
}

/**
 * The body of one answer. Its connection writes into `room`; blocks go to the receiver when they are full, or after a
 * while. Before it is started it takes one read, and the connection is paused.
 *
 *   open      the head has come and no receiver is there yet
 *   started   pieces go to the receiver
 *   ended     the last byte was received, the connection failed, or the receiver gave up
 */
export class RawBody implements Download {
  readonly info: ObjectInfo;
  readonly #source: RawSource;
  readonly #early: Piece[] = [];
  #state: 'open' | 'started' | 'ended' = 'open';
  #leftBytes: number;
  #block: Block | null = null;
  #receiver: PieceReceiver | null = null;
  #handOnAtMs = 0;

  /** `early` came with the head; it is copied. */
  constructor(source: RawSource, info: ObjectInfo, { bodyBytes, early }: { bodyBytes: number; early: Buffer }) {
    this.info = info;
    this.#source = source;
    this.#leftBytes = bodyBytes - early.length;
    if (early.length === 0) return;
    this.#block = source.shared.blocks.take();
    early.copy(this.#block.room);
    this.#block.fill(early.length);
  }

  get isComplete(): boolean {
    return this.#leftBytes === 0;
  }

  get isStarted(): boolean {
    return this.#state === 'started';
  }

  /** The memory for the next bytes; never past the end of the body, so that a byte too many is noticed. */
  room(): Buffer {
    this.#block ??= this.#source.shared.blocks.take();
    const { room } = this.#block;
    return room.length > this.#leftBytes ? room.subarray(0, this.#leftBytes) : room;
  }

  /** Called when `count` bytes were written at the beginning of `room`. */
  onBytes(count: number): void {
    this.#block?.fill(count);
    this.#leftBytes -= count;
    if (this.#block?.isFull === true) this.#handOn();
    if (this.#state === 'open') this.#source.pause();
  }

  onTick(): void {
    if (this.#source.shared.nowMs >= this.#handOnAtMs) this.#handOn();
  }

  start(receiver: PieceReceiver): void {
    if (this.#state !== 'open') {
      receiver.onFailure(new KnownProblem('storage_error', 'The object was cut off.'));
      return;
    }
    this.#state = 'started';
    this.#receiver = receiver;
    // The first byte is handed on at the next tick.
    this.#handOnAtMs = this.#source.shared.nowMs;
    for (const piece of this.#early.splice(0)) receiver.onPiece(piece);
    this.#source.onStarted();
  }

  pause(): void {
    if (this.#state === 'started') this.#source.pause();
  }

  resume(): void {
    if (this.#state === 'started') this.#source.resume();
  }

  destroy(): void {
    if (this.#state === 'ended') return;
    this.#receiver = null;
    this.#source.close();
  }

  /** Hands on the last piece; returns the receiver to be notified, or null when it gave up meanwhile. */
  complete(): PieceReceiver | null {
    this.#handOn();
    const receiver = this.#receiver;
    this.#end();
    return receiver;
  }

  fail(cause: Error): void {
    const receiver = this.#receiver;
    this.#end();
    receiver?.onFailure(new KnownProblem('storage_error', 'The object was cut off.', { cause }));
  }

  #end(): void {
    this.#state = 'ended';
    this.#receiver = null;
    this.#block?.release();
    this.#block = null;
    for (const piece of this.#early.splice(0)) piece.release();
  }

  #handOn(): void {
    const block = this.#block;
    if (block === null) return;
    const piece = block.handOn();
    if (block.isFull || this.#leftBytes === 0) {
      this.#block = null;
      block.release();
    }
    if (piece === null) return;
    this.#handOnAtMs = this.#source.shared.nowMs + handOnAfterMs;
    if (this.#receiver === null) this.#early.push(piece);
    else this.#receiver.onPiece(piece);
  }
}
