import type { Piece } from '#platform/storage/blocks.ts';
import type { Download, ObjectInfo, PieceReceiver } from '#platform/storage/object-store.ts';

// One read of an object, shared by all readers that request it while it lasts and, when it is kept, by later ones.
//
//   reading    bytes come. A read that is not kept releases what every reader has taken, and its source is paused while
//              the readers lag behind; a kept one holds all bytes and is never paused
//   whole      all bytes are there; only a kept read is found again
//   failed     the source failed: readers notice after they have taken what came before
//   released   evicted from the cache, or without readers: its memory is used for other objects
//
// A reader of a failed or released read takes the rest from the bucket by itself. So a slow reader holds what it was
// handed last, never a whole object.

/** How far the source of a read that is not kept may be ahead of its slowest reader. */
const aheadBytesMax = 256 * 1024;

type State = 'reading' | 'whole' | 'failed' | 'released';

interface ReadEvents {
  /** The read has ended, successfully or not. */
  readonly onEnd: (read: CoalescedRead) => void;
}

export class CoalescedRead implements PieceReceiver {
  readonly info: ObjectInfo;
  readonly #download: Download;
  readonly #events: ReadEvents;
  #pieces: { readonly piece: Piece; readonly start: number }[] = [];
  #readers = new Set<ReadCursor>();
  #state: State = 'reading';
  #receivedBytes = 0;
  #isKept = false;
  #isPaused = false;

  constructor(download: Download, events: ReadEvents) {
    this.info = download.info;
    this.#download = download;
    this.#events = events;
  }

  get state(): State {
    return this.#state;
  }

  get isKept(): boolean {
    return this.#isKept;
  }

  /** Whether a reader that joins now gets every byte. */
  get isJoinable(): boolean {
    const hasBeginning = this.#receivedBytes === 0 || this.#pieces[0]?.start === 0;
    return (this.#state === 'reading' || this.#state === 'whole') && hasBeginning;
  }

  /** The memory that it occupies. */
  get heldBytes(): number {
    const blocks = new Set(this.#pieces.map(({ piece }) => piece.block));
    return [...blocks].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /** Starts the source. Readers may join before and after. */
  start(): void {
    this.#download.start(this);
  }

  /** Holds every byte from now on, until `release`. */
  keep(): void {
    this.#isKept = true;
    this.#pace();
  }

  /** Adds a reader of the bytes from `start` to before `end`; `onMore` is called when bytes or the state have changed. */
  join({ start, end }: { start: number; end: number }, onMore: () => void): ReadCursor {
    const cursor = new ReadCursor(this, { start, end, onMore });
    this.#readers.add(cursor);
    return cursor;
  }

  leave(cursor: ReadCursor): void {
    this.#readers.delete(cursor);
    this.endUnread();
    this.#pace();
  }

  /** Ends a read that has no readers and will not be found again. */
  endUnread(): void {
    const isNeeded = this.#readers.size > 0 || (this.#state === 'whole' && this.#isKept);
    if (!isNeeded && this.#state !== 'released') this.#end('released');
  }

  /** Releases the memory of a read that is whole. */
  release(): void {
    if (this.#state === 'whole') this.#end('released');
  }

  /** Moves the bytes of a whole object into memory of exactly their size, out of blocks that are partly empty. */
  compact(copy: (pieces: readonly Buffer[]) => Piece): void {
    const before = this.#pieces;
    this.#pieces = [{ piece: copy(before.map(({ piece }) => piece.bytes)), start: 0 }];
    for (const { piece } of before) piece.release();
  }

  onPiece(piece: Piece): void {
    if (this.#state !== 'reading') return piece.release();
    this.#pieces.push({ piece, start: this.#receivedBytes });
    this.#receivedBytes += piece.bytes.length;
    this.#pace();
    this.#wakeAll();
  }

  onEnd(): void {
    if (this.#state !== 'reading') return;
    if (this.#receivedBytes === this.info.sizeBytes) this.#end('whole');
    else this.#end('failed');
  }

  onFailure(): void {
    if (this.#state === 'reading') this.#end('failed');
  }

  /** The received bytes from `start`, at most about `bytesMax`; each piece is retained for the caller. */
  take(start: number, end: number, bytesMax: number): { bytes: Buffer; piece: Piece }[] {
    const taken: { bytes: Buffer; piece: Piece }[] = [];
    let position = start;
    const until = Math.min(end, start + bytesMax);
    for (const { piece, start: pieceStart } of this.#pieces) {
      const from = position - pieceStart;
      if (from < 0 || from >= piece.bytes.length) continue;
      if (position >= until) break;
      const bytes = piece.bytes.subarray(from, end - pieceStart);
      piece.retain();
      taken.push({ bytes, piece });
      position += bytes.length;
    }
    return taken;
  }

  /** Called after a reader took something: releases what all readers have taken and resumes a paused source. */
  onTaken(): void {
    this.#pace();
  }

  #pace(): void {
    if (this.#isKept || (this.#state !== 'reading' && this.#state !== 'whole')) return;
    if (this.#readers.size === 0) return;
    let slowest = Infinity;
    for (const { position } of this.#readers) slowest = Math.min(slowest, position);
    if (this.#state === 'reading' || this.#pieces.length > 0) this.#drop(slowest);
    if (this.#state !== 'reading') return;
    const isAhead = this.#receivedBytes - slowest > aheadBytesMax;
    if (isAhead === this.#isPaused) return;
    this.#isPaused = isAhead;
    if (isAhead) this.#download.pause();
    else this.#download.resume();
  }

  #drop(before: number): void {
    while (this.#pieces[0] !== undefined) {
      const { piece, start } = this.#pieces[0];
      if (start + piece.bytes.length > before) return;
      this.#pieces.shift();
      piece.release();
    }
  }

  #end(state: Exclude<State, 'reading'>): void {
    const wasReading = this.#state === 'reading';
    this.#state = state;
    if (wasReading && state === 'released') this.#download.destroy();
    if (state === 'released') {
      for (const { piece } of this.#pieces) piece.release();
      this.#pieces = [];
    }
    if (wasReading) this.#events.onEnd(this);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const reader of this.#readers) reader.onMore();
  }
}

/** The position of one reader in a read. */
export class ReadCursor {
  readonly onMore: () => void;
  readonly #read: CoalescedRead;
  readonly #end: number;
  #position: number;

  constructor(read: CoalescedRead, { start, end, onMore }: { start: number; end: number; onMore: () => void }) {
    this.#read = read;
    this.#position = start;
    this.#end = end;
    this.onMore = onMore;
  }

  get position(): number {
    return this.#position;
  }

  get isDone(): boolean {
    return this.#position === this.#end;
  }

  get state(): State {
    return this.#read.state;
  }

  /** The received bytes that were not taken yet, at most about `bytesMax`; each piece must be released. */
  take(bytesMax: number): { bytes: Buffer; piece: Piece }[] {
    const taken = this.#read.take(this.#position, this.#end, bytesMax);
    for (const { bytes } of taken) this.#position += bytes.length;
    return taken;
  }

  /** Called when what was taken has been sent. */
  taken(): void {
    this.#read.onTaken();
  }

  leave(): void {
    this.#read.leave(this);
  }
}
