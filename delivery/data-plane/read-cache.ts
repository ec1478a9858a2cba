import { ownPiece } from '#platform/storage/blocks.ts';
import type { Download } from '#platform/storage/object-store.ts';
import { batchBytesMax, CoalescedRead } from './coalesced-read.ts';

/** Objects up to this size are cached after their first read: they cost little, and init segments are among them. */
const smallBytesMax = 64 * 1024;
/** No object may take more than this part of the memory. */
const shareMax = 1 / 8;
/** Keys that were requested once. Two halves, of which the older one is dropped when the newer one is full. */
const seenMax = 16_384;
/** The memory that an object may occupy, relative to its size; an object in more is copied together. */
const occupiedMax = 1.25;
/** Bytes of an evicted read that its reader holds until its client has taken them: the blocks of one batch. */
const readerBytesMax = batchBytesMax.cached + 512 * 1024;
/** The cost of an entry beside its bytes. */
const overheadBytes = 1024;

/**
 * Reads of objects that never change: reads under way, which equal requests join, and cached ones, bounded by their
 * memory, the least recently used evicted first. Memory of an evicted read that readers still use counts too.
 *
 * A large object is cached when it is requested for the second time, so that a scan over many objects (a crawler, one
 * viewer of a long video) evicts nothing that others watch.
 *
 * Not `lru-cache`: a read under way occupies memory and cannot be evicted, its size grows, and an object that does not
 * fit in the rest is not cached (docs/design/delivery.md).
 */
export class ReadCache {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, { read: CoalescedRead; bytes: number }>();
  /** The bytes of `#entries` and `#lingering` together. */
  #bytes = 0;
  /** Evicted reads whose readers still hold memory of them, with its size. */
  readonly #lingering = new Map<CoalescedRead, number>();
  #seen = new Set<string>();
  #seenBefore = new Set<string>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** A read, cached or under way, that a new reader can have whole. */
  find(key: string): CoalescedRead | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const { read } = entry;
    if (!read.isJoinable || (!read.isCached && !this.#tryCache(key, read))) return null;
    // A map keeps the order of insertion, so the entry moves to its end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return read;
  }

  /** Begins a read that others may join; `onEnd` is called when it needs its source no more. */
  begin(key: string, download: Download, onEnd: () => void = () => {}): CoalescedRead {
    const read = new CoalescedRead(download, {
      onEnd: () => {
        onEnd();
        this.#onEnd(key, read);
      },
      onUnread: () => this.#settle(read),
    });
    const isRequestedAgain = this.#notice(key);
    this.#remove(key);
    this.#entries.set(key, { read, bytes: 0 });
    if (isRequestedAgain) this.#tryCache(key, read);
    read.start();
    return read;
  }

  /** Drops the reads of these objects; their readers have them to the end. */
  forget(isForgotten: (key: string) => boolean): void {
    for (const key of this.#entries.keys()) if (isForgotten(key)) this.#remove(key);
  }

  /** Keeps the read if there is memory for all of it. */
  #tryCache(key: string, read: CoalescedRead): boolean {
    const { sizeBytes } = read.info;
    if (!this.#reserve(key, sizeBytes + overheadBytes)) return false;
    read.keep();
    return true;
  }

  /** Makes room by evicting others. What is under way cannot be evicted. */
  #reserve(key: string, bytes: number): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || bytes > this.#bytesMax * shareMax) return false;
    const isTooMuch = () => this.#bytes - entry.bytes + bytes > this.#bytesMax;
    for (const [other, { read }] of this.#entries) {
      if (!isTooMuch()) break;
      if (other !== key && read.isCached && read.state === 'whole') this.#remove(other);
    }
    if (isTooMuch()) return false;
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    return true;
  }

  #onEnd(key: string, read: CoalescedRead): void {
    const entry = this.#entries.get(key);
    if (entry?.read !== read) return;
    if (read.state !== 'whole') return this.#remove(key);
    const { sizeBytes } = read.info;
    if (!read.isCached && sizeBytes <= smallBytesMax && read.isJoinable) this.#tryCache(key, read);
    if (!read.isCached) return this.#remove(key);
    // The last block is rarely full, and an object from a slow source lies in many partly filled blocks.
    if (read.memoryBytes > occupiedMax * sizeBytes) read.compact((parts) => ownPiece(Buffer.concat(parts)));
    if (!this.#reserve(key, read.memoryBytes + overheadBytes)) this.#remove(key);
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    if (!entry.read.isCached) return;
    const lingering = Math.min(entry.bytes, entry.read.readerCount * readerBytesMax);
    if (lingering > 0) this.#lingering.set(entry.read, lingering);
    this.#bytes += lingering;
    entry.read.release();
  }

  /** Called when no reader holds memory of `read` any more. */
  #settle(read: CoalescedRead): void {
    this.#bytes -= this.#lingering.get(read) ?? 0;
    this.#lingering.delete(read);
  }

  /** Whether `key` was requested before. */
  #notice(key: string): boolean {
    const isKnown = this.#seen.has(key) || this.#seenBefore.has(key);
    this.#seen.add(key);
    if (this.#seen.size >= seenMax / 2) [this.#seenBefore, this.#seen] = [this.#seen, new Set()];
    return isKnown;
  }
}
