import type { Piece } from '#platform/storage/blocks.ts';
import type { Download, ObjectInfo, PieceReceiver } from '#platform/storage/object-store.ts';
import { CachedBytes } from './cached-bytes.ts';
import { slowMs } from './send-range.ts';

// One read of an object, shared by all readers that request it meanwhile and, when it is cached, by later ones.
//
//   reading    bytes arrive. An uncached read releases what every reader has taken, and its source is paused while the
//              readers lag behind; a cached one stores all bytes and is never paused
//   whole      all bytes are there; only a cached read is found again
//   failed     the source failed: readers notice after they have taken what came before
//   released   evicted from the cache, without readers, or paused for long: its memory is used for other objects, its
//              connection is closed
//
// A reader of a failed or released read requests the rest from the bucket itself. So a slow reader occupies the piece
// that it was handed last, never a whole object, and no connection to the bucket.

/** How far the source of an uncached read may be ahead of its slowest reader. */
const aheadBytesMax = 256 * 1024;

/**
 * Bytes handed to a reader at once, which one that does not read occupies. Of a cached read it is the usual size of a
 * segment, in memory that readers share and the cache counts.
 */
export const batchBytesMax = { passing: 512 * 1024, cached: 2 * 1024 * 1024 } as const;

type State = 'reading' | 'whole' | 'failed' | 'released';

interface ReadEvents {
  /** The read has ended, successfully or not. */
  readonly onEnd: (read: CoalescedRead) => void;
  /** Its last reader has left. */
  readonly onUnread?: (read: CoalescedRead) => void;
}

export class CoalescedRead implements PieceReceiver {
  readonly info: ObjectInfo;
  readonly #download: Download;
  readonly #events: ReadEvents;
  readonly #pieces = new CachedBytes();
  #readers = new Set<ReadCursor>();
  #state: State = 'reading';
  #isCached = false;
  /** Ends a read whose readers lag behind for long; undefined while its source is not paused. */
  #pauseTimer: NodeJS.Timeout | undefined;

  constructor(download: Download, events: ReadEvents) {
    this.info = download.info;
    this.#download = download;
    this.#events = events;
  }

  get state(): State {
    return this.#state;
  }

  get isCached(): boolean {
    return this.#isCached;
  }

  /** Whether a reader that joins now gets every byte. */
  get isJoinable(): boolean {
    return (this.#state === 'reading' || this.#state === 'whole') && this.#pieces.hasBeginning;
  }

  get readerCount(): number {
    return this.#readers.size;
  }

  /** The memory that it occupies. */
  get memoryBytes(): number {
    return this.#pieces.memoryBytes;
  }

  /** Starts the source. Readers may join before and after. */
  start(): void {
    this.#download.start(this);
  }

  /** Holds every byte from now on, until `release`. */
  keep(): void {
    this.#isCached = true;
    this.#setPaused(false);
  }

  /**
   * Adds a reader of the bytes from `start` to before `end`; `onMore` is called when bytes or the state have changed.
   */
  join({ start, end }: { start: number; end: number }, onMore: () => void): ReadCursor {
    const cursor = new ReadCursor(this, { start, end, onMore });
    this.#readers.add(cursor);
    return cursor;
  }

  leave(cursor: ReadCursor): void {
    this.#readers.delete(cursor);
    if (this.#readers.size === 0) this.#events.onUnread?.(this);
    this.endUnread();
    this.#pace();
  }

  /** Ends a read that has no readers and will not be found again. */
  endUnread(): void {
    const isNeeded = this.#readers.size > 0 || (this.#state === 'whole' && this.#isCached);
    if (!isNeeded && this.#state !== 'released') this.#end('released');
  }

  /** Releases the memory of a read that is whole. */
  release(): void {
    if (this.#state === 'whole') this.#end('released');
  }

  /** Moves the bytes of a whole object into memory of exactly their size, out of blocks that are partly empty. */
  compact(copy: (pieces: readonly Buffer[]) => Piece): void {
    this.#pieces.compact(copy);
  }

  onPiece(piece: Piece): void {
    if (this.#state !== 'reading') return piece.release();
    this.#pieces.add(piece);
    // Readers that can take it do so now: the source is paused for those alone that lag behind.
    this.#wakeAll();
    this.#pace();
  }

  onEnd(): void {
    if (this.#state !== 'reading') return;
    if (this.#pieces.receivedBytes === this.info.sizeBytes) this.#end('whole');
    else this.#end('failed');
  }

  onFailure(): void {
    if (this.#state === 'reading') this.#end('failed');
  }

  /** The received bytes from `start`, at most `bytesMax`; each piece is retained for the caller. */
  take(start: number, end: number, bytesMax: number): { bytes: Buffer; piece: Piece }[] {
    return this.#pieces.take(start, end, bytesMax);
  }

  /** Called after a reader took something: releases what all readers have taken and resumes a paused source. */
  onTaken(): void {
    this.#pace();
  }

  #pace(): void {
    if (this.#isCached || (this.#state !== 'reading' && this.#state !== 'whole')) return;
    if (this.#readers.size === 0) return;
    let slowest = Infinity;
    for (const { position } of this.#readers) slowest = Math.min(slowest, position);
    this.#pieces.drop(slowest);
    if (this.#state !== 'reading') return;
    this.#setPaused(this.#pieces.receivedBytes - slowest > aheadBytesMax);
  }

  #setPaused(isPaused: boolean): void {
    if (isPaused === (this.#pauseTimer !== undefined)) return;
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = isPaused ? setTimeout(() => this.#end('released'), slowMs).unref() : undefined;
    if (isPaused) this.#download.pause();
    else this.#download.resume();
  }

  #end(state: Exclude<State, 'reading'>): void {
    clearTimeout(this.#pauseTimer);
    const wasReading = this.#state === 'reading';
    this.#state = state;
    if (wasReading && state === 'released') this.#download.destroy();
    if (state === 'released') this.#pieces.release();
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

  /** The received bytes that were not taken yet, at most a batch; each piece must be released. */
  take(): { bytes: Buffer; piece: Piece }[] {
    const bytesMax = this.#read.isCached ? batchBytesMax.cached : batchBytesMax.passing;
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
