import { FairQueue } from '#platform/concurrency/fair-queue.ts';

/** Requests that the framework begins in one turn of the event loop. Each takes about a millisecond of it. */
const perTurn = 4;

interface Request {
  readonly client: string;
  readonly begin: () => void;
}

/**
 * Begins a few requests in each turn of the event loop, of clients in turn. Hundreds that arrive at once would make a
 * turn so long that all others wait, those too that are answered from memory.
 */
export class RequestTurns {
  readonly #waiting = new FairQueue<Request>();
  #begun = 0;
  #isTurnEnding = false;

  /** Calls `begin` now, or in a later turn when this one has begun enough. */
  run(client: string, begin: () => void): void {
    this.#waiting.push({ client, begin });
    this.#beginSome();
  }

  #beginSome(): void {
    while (this.#begun < perTurn) {
      const next = this.#waiting.take();
      if (next === null) break;
      this.#begun += 1;
      this.#endTurn();
      next.begin();
    }
  }

  #endTurn(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    setImmediate(() => {
      this.#isTurnEnding = false;
      this.#begun = 0;
      this.#beginSome();
    });
  }
}
