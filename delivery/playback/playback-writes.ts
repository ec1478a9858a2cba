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

interface PlaybackWritesDependencies {
  readonly figures: PlaybackFigures;
  readonly store: Pick<PlaybackDayStore, 'add'>;
  readonly log: Logger;
}

/** Writes all digests so far. */
export function playbackWrites({ figures, store, log }: PlaybackWritesDependencies): PeriodicWrites {
  const write = async () => {
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
  };
  return new PeriodicWrites({
    write,
    onFailure: (error) => log.warn({ err: error }, 'playback figures not written'),
  });
}

function addedOf([hash, digest]: readonly [string, PlaybackDigest]): AddedPlayback {
  const { requests, starved, sessions, throughputs } = digest;
  return { hash, requests, starved, sessionBits: sketchToBits(sessions), throughputs: [...throughputs] };
}
