import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { KnownProblem } from '#domain/errors.ts';
import type { ClientAddresses } from '#platform/http/client-addresses.ts';

// Bytes of streams for one address (or /64) in an hour (C34.10): whoever pulls whole media is stopped, while players of
// the address go on from their caches only, so the bound should be far more than anybody watches. Each server counts for
// itself, in memory, and counts a response when it has ended.

const windowMs = 3_600_000;
/** Above this the address that was counted the longest ago is forgotten. */
const addressesMax = 100_000;

type Reader = Pick<IncomingMessage, 'socket' | 'headers'>;

interface Window {
  readonly endsAtMs: number;
  bytes: number;
}

interface StreamQuotaDependencies {
  readonly bytesPerHour: number;
  readonly clients: ClientAddresses;
  /** Milliseconds that only grow. */
  readonly nowMs?: () => number;
}

export class StreamQuota {
  readonly #bytesPerHour: number;
  readonly #clients: ClientAddresses;
  readonly #nowMs: () => number;
  readonly #windows = new LRUCache<string, Window>({ max: addressesMax });

  constructor({ bytesPerHour, clients, nowMs = () => performance.now() }: StreamQuotaDependencies) {
    this.#bytesPerHour = bytesPerHour;
    this.#clients = clients;
    this.#nowMs = nowMs;
  }

  /** Whether the client of a request has had the bytes of its hour. */
  isSpent(reader: Reader): boolean {
    return this.#windowOf(reader).bytes >= this.#bytesPerHour;
  }

  /** @throws KnownProblem `rate_limited` when the client has had the bytes of its hour */
  assertLeft(reader: Reader): void {
    const { bytes, endsAtMs } = this.#windowOf(reader);
    if (bytes < this.#bytesPerHour) return;
    const retryAfterSec = Math.max(1, Math.ceil((endsAtMs - this.#nowMs()) / 1000));
    const bound = `This address has had the ${this.#bytesPerHour} bytes of streams that it may have in an hour`;
    throw new KnownProblem('rate_limited', `${bound}; try again in ${retryAfterSec} s.`, { retryAfterSec });
  }

  /** Counts what was sent; the first bytes begin the hour. */
  count(reader: Reader, bytes: number): void {
    const window = this.#windowOf(reader);
    window.bytes += bytes;
    this.#windows.set(this.#clients.bucketOf(reader), window);
  }

  #windowOf(reader: Reader): Window {
    const found = this.#windows.get(this.#clients.bucketOf(reader));
    const nowMs = this.#nowMs();
    return found !== undefined && found.endsAtMs > nowMs ? found : { endsAtMs: nowMs + windowMs, bytes: 0 };
  }
}
