import { ownPiece } from '#platform/storage/blocks.ts';
import type { Download } from '#platform/storage/object-store.ts';
import { CoalescedRead } from './coalesced-read.ts';

/** Objects up to this are kept when they were read once: they cost little, and a track's init segment is one. */
const smallBytesMax = 64 * 1024;
/** No object may take more than this part of the memory. */
const shareMax = 1 / 8;
/** Keys that were asked for once. Two halves, of which the older one is forgotten when the newer one is full. */
const seenMax = 16_384;
/** The memory that an object may occupy, as a part of its size; what lies in more is moved together. */
const occupiedMax = 1.25;
/** What an entry costs beside its bytes. */
const overheadBytes = 1024;

/**
 * Readings of objects that never change: those under way, which equal requests join, and those that are kept, bounded
 * by their memory; what was not asked for longest goes first.
 *
 * A large object is kept when it is asked for the second time, so that a scan over many objects (a crawler, one viewer
 * of a long film) pushes out nothing that others watch.
 */
export class ReadCache {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, { read: CoalescedRead; bytes: number }>();
  #bytes = 0;
  #seen = new Set<string>();
  #seenBefore = new Set<string>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What a new reader can have whole: kept, or under way. */
  find(key: string): CoalescedRead | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const { read } = entry;
    if (!read.isJoinable || (!read.isKept && !this.#tryKeep(key, read))) return null;
    // A map keeps the order of insertion, so the entry moves to its end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return read;
  }

  /** Begins a reading that others may join. */
  begin(key: string, download: Download): CoalescedRead {
    const read = new CoalescedRead(download, { onEnd: () => this.#onEnd(key, read) });
    const isAskedAgain = this.#notice(key);
    this.#remove(key);
    this.#entries.set(key, { read, bytes: 0 });
    if (isAskedAgain) this.#tryKeep(key, read);
    read.start();
    return read;
  }

  /** Whether there is room for all of it; it is then kept once it is whole. */
  #tryKeep(key: string, read: CoalescedRead): boolean {
    const { sizeBytes } = read.info;
    if (!this.#reserve(key, sizeBytes + overheadBytes)) return false;
    read.keep();
    return true;
  }

  /** Makes room by forgetting others. What is under way cannot be forgotten. */
  #reserve(key: string, bytes: number): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || bytes > this.#bytesMax * shareMax) return false;
    const isTooMuch = () => this.#bytes - entry.bytes + bytes > this.#bytesMax;
    for (const [other, { read }] of this.#entries) {
      if (!isTooMuch()) break;
      if (other !== key && read.isKept && read.state === 'whole') this.#remove(other);
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
    if (!read.isKept && sizeBytes <= smallBytesMax && read.isJoinable) this.#tryKeep(key, read);
    if (!read.isKept) return this.#remove(key);
    // The last block is rarely full, and an object of a slow source lies in many that are not.
    if (read.heldBytes > occupiedMax * sizeBytes) read.compact((parts) => ownPiece(Buffer.concat(parts)));
    if (!this.#reserve(key, read.heldBytes + overheadBytes)) this.#remove(key);
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    if (entry.read.isKept) entry.read.forget();
  }

  /** Whether `key` was asked for before. */
  #notice(key: string): boolean {
    const isKnown = this.#seen.has(key) || this.#seenBefore.has(key);
    this.#seen.add(key);
    if (this.#seen.size >= seenMax / 2) [this.#seenBefore, this.#seen] = [this.#seen, new Set()];
    return isKnown;
  }
}
