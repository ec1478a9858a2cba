import { pause } from '#platform/lifecycle/backoff.ts';
import { withTimeout } from '#platform/lifecycle/with-timeout.ts';
import { sketchToBits } from '#domain/playback/session-sketch.ts';
import type { AddedPlayback, PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { PlaybackDigest, PlaybackFigures } from './playback-figures.ts';

// Writes digests in batches. What could not be written is tried again with the next, so an outage of the database loses
// figures only where more media are played than there is memory for. A connection that is lost between the commit and
// its answer counts a batch twice.

const everyMs = 10_000;
/** A digest is 4 kB of text. */
const batchMax = 250;
const lastWriteMsMax = 2_000;

interface PlaybackWriterDependencies {
  readonly figures: PlaybackFigures;
  readonly store: Pick<PlaybackDayStore, 'add'>;
  readonly log: Logger;
}

export class PlaybackWriter {
  readonly #dependencies: PlaybackWriterDependencies;
  readonly #stopping = new AbortController();
  /** By the database, when it was written to last. */
  #isWritten = true;
  #ended = Promise.resolve();

  constructor(dependencies: PlaybackWriterDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#ended = this.#repeat();
  }

  /** Writes what is left, for two seconds at most. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
    await withTimeout(this.write(), lastWriteMsMax, 'the last playback figures were not written').catch(
      () => undefined,
    );
  }

  /** Writes all digests so far. */
  async write(): Promise<void> {
    const { figures, store, log } = this.#dependencies;
    const taken = [...figures.take()];
    for (let start = 0; start < taken.length; start += batchMax) {
      const batch = taken.slice(start, start + batchMax);
      try {
        await store.add(batch.map(addedOf));
        this.#isWritten = true;
      } catch (error) {
        figures.putBack(new Map(taken.slice(start)));
        // An outage lasts, and so does a role that may not write: one line for each.
        if (this.#isWritten) log.warn({ err: error }, 'playback figures not written');
        this.#isWritten = false;
        return;
      }
    }
  }

  async #repeat(): Promise<void> {
    for (;;) {
      await pause(everyMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      await this.write();
    }
  }
}

function addedOf([hash, digest]: readonly [string, PlaybackDigest]): AddedPlayback {
  const { requests, starved, sessions, throughputs } = digest;
  return { hash, requests, starved, sessionBits: sketchToBits(sessions), throughputs: [...throughputs] };
}
