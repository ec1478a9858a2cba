import { LRUCache } from 'lru-cache';
import { TokenBucket } from '#platform/concurrency/token-bucket.ts';
import type { RecentClients } from '#platform/rate-limit/recent-clients.ts';
import type { ByteRange } from '#platform/storage/object-store.ts';
import { firstPiece } from './send-range.ts';

/** Bytes of one client: a fifth of what one core can send, with their reads. */
const rate = { perSecond: 32 * 1024 * 1024, burst: 1024 * 1024 };
const clientsMax = 10_000;

/**
 * How fast each client gets bytes of ranges while there are others: hundreds of ranges of one, which the kernel's
 * buffers take at any speed, would occupy the event loop alone.
 */
export class RangePace {
  readonly #recent: RecentClients;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: clientsMax });

  constructor(recent: RecentClients) {
    this.#recent = recent;
  }

  /** Which beginning of `part` the client may have next, and in how many milliseconds. */
  next(client: string, part: Required<ByteRange>, nowMs: number): { piece: Required<ByteRange>; waitMs: number } {
    if (!this.#recent.hasOther(client, nowMs)) return { piece: part, waitMs: 0 };
    const bucket = this.#buckets.get(client) ?? new TokenBucket(rate);
    this.#buckets.set(client, bucket);
    const piece = bucket.hasToken(nowMs) ? part : firstPiece(part);
    return { piece, waitMs: bucket.take(nowMs, piece.end - piece.start + 1) };
  }
}
