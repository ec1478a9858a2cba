import type { ServerResponse } from 'node:http';
import { KnownProblem } from '#domain/errors.ts';

/** A stream that waits holds about 65 kB: 3,000 of them are 195 MB of the 512 MiB that a pod of the chart has. */
const defaultBounds = { streamsMax: 3000, perKeyMax: 2000 };

/** Bounds the open event streams of this process, and of each API key, which leaves places for the other keys. */
export class EventStreams {
  readonly #bounds: typeof defaultBounds;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(bounds = defaultBounds) {
    this.#bounds = bounds;
  }

  /** How many keys have streams. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Counts a stream until its response is closed. @throws KnownProblem `busy` */
  begin(key: string, response: ServerResponse): void {
    const ofKey = this.#byKey.get(key) ?? 0;
    if (this.#total >= this.#bounds.streamsMax || ofKey >= this.#bounds.perKeyMax)
      throw new KnownProblem('busy', 'Too many event streams are open; try again shortly, or poll the job.');
    // Closed before its turn came: no event will say so.
    if (response.destroyed) return;
    this.#total += 1;
    this.#byKey.set(key, ofKey + 1);
    response.once('close', () => this.#end(key));
  }

  #end(key: string): void {
    this.#total -= 1;
    const left = (this.#byKey.get(key) ?? 0) - 1;
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
  }
}
