import { sketchToBits } from '#domain/playback/session-sketch.ts';
import type { AddedPlayback, PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { PeriodicWrites } from '../periodic-writes.ts';
import type { PlaybackDigest, PlaybackFigures } from './playback-figures.ts';

// Writes digests in batches. What could not be written is tried again with the next, so an outage of the database loses
// figures only where more media are played than there is memory for. A connection that is lost between the commit and
// its answer counts a batch twice.

/** A digest is 4 kB of text. */
const batchMax = 250;

interface PlaybackWriterDependencies {
  readonly figures: PlaybackFigures;
  readonly store: Pick<PlaybackDayStore, 'add'>;
  readonly log: Logger;
}

export class PlaybackWriter {
  readonly #dependencies: PlaybackWriterDependencies;
  readonly #writes: PeriodicWrites;

  constructor(dependencies: PlaybackWriterDependencies) {
    this.#dependencies = dependencies;
    this.#writes = new PeriodicWrites({
      write: () => this.#writeAll(),
      onFailure: (error) => dependencies.log.warn({ err: error }, 'playback figures not written'),
    });
  }

  start(): void {
    this.#writes.start();
  }

  stop(): Promise<void> {
    return this.#writes.stop();
  }

  /** Writes all digests so far. */
  write(): Promise<void> {
    return this.#writes.write();
  }

  async #writeAll(): Promise<void> {
    const { figures, store } = this.#dependencies;
    const taken = [...figures.take()];
    for (let start = 0; start < taken.length; start += batchMax) {
      const batch = taken.slice(start, start + batchMax);
      try {
        await store.add(batch.map(addedOf));
      } catch (error) {
        figures.putBack(new Map(taken.slice(start)));
        throw error;
      }
    }
  }
}

function addedOf([hash, digest]: readonly [string, PlaybackDigest]): AddedPlayback {
  const { requests, starved, sessions, throughputs } = digest;
  return { hash, requests, starved, sessionBits: sketchToBits(sessions), throughputs: [...throughputs] };
}
