import type { IncomingMessage, ServerResponse } from 'node:http';
import { mediaOfAddress } from '#domain/playback/media-address.ts';
import type { DeliveredStore } from '#platform/postgres/delivered-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { PeriodicWrites } from './periodic-writes.ts';

// Bytes of streams by media, for the usage of API keys (C37.21): an addition for each response, and a statement every
// ten seconds. What a killed server had not written is lost, at most these ten seconds; a connection that is lost
// between the commit and its answer counts them twice. An outage of the database loses nothing.

/** About four megabytes. Bytes of media beyond are counted together. */
const mediaMaxDefault = 20_000;
const ofOthers = '';

/** Answers with an object: only then there is such a media. */
const statuses: ReadonlySet<number> = new Set([200, 206]);

interface DeliveredBytesDependencies {
  readonly store: Pick<DeliveredStore, 'add'>;
  readonly log: Logger;
  readonly mediaMax?: number;
}

export class DeliveredBytes {
  readonly #store: Pick<DeliveredStore, 'add'>;
  readonly #mediaMax: number;
  /** Writes all bytes so far; what could not be written is written with the next. */
  readonly writes: PeriodicWrites;
  #bytes = new Map<string, number>();

  constructor({ store, log, mediaMax = mediaMaxDefault }: DeliveredBytesDependencies) {
    this.#store = store;
    this.#mediaMax = mediaMax;
    this.writes = new PeriodicWrites({
      write: () => this.#writeAll(),
      onFailure: (error) => log.warn({ err: error }, 'delivered bytes not written'),
    });
  }

  /** Counts the bytes that were written for a response, once it has ended or its client has left. */
  count({ url = '' }: Pick<IncomingMessage, 'url'>, response: Pick<ServerResponse, 'statusCode'>, bytes: number): void {
    const hash = statuses.has(response.statusCode) ? mediaOfAddress(url) : null;
    if (hash !== null && bytes > 0) this.#add(hash, bytes);
  }

  async #writeAll(): Promise<void> {
    const taken = this.#bytes;
    if (taken.size === 0) return;
    this.#bytes = new Map();
    try {
      await this.#store.add(taken);
    } catch (error) {
      for (const [hash, bytes] of taken) this.#add(hash, bytes);
      throw error;
    }
  }

  #add(hash: string, bytes: number): void {
    const before = this.#bytes.get(hash);
    const counted = before === undefined && this.#bytes.size >= this.#mediaMax ? ofOthers : hash;
    this.#bytes.set(counted, (before ?? this.#bytes.get(counted) ?? 0) + bytes);
  }
}
