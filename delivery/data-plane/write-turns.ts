// Writing segments is most of what delivery does on the event loop: the kernel copies half a megabyte in a tenth of a
// millisecond or more, and hundreds of clients may be ready at once. So the writes of one turn of the loop are bounded
// by time; the rest waits for the next turns, in order, and requests, timers and reads are served in between.

/** The writes of one server, in turns of the event loop. */
export class WriteTurns {
  readonly #turnMs: number;
  readonly #waiting: (() => void)[] = [];
  #spentMs = 0;
  #isTurnEnding = false;

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** Runs `write` in this turn of the event loop while there is time, else in a later one. */
  run(write: () => void): void {
    if (this.#waiting.length > 0 || this.#spentMs >= this.#turnMs) this.#waiting.push(write);
    else this.#spend(write);
    this.#endTurn();
  }

  #spend(write: () => void): void {
    const beganMs = performance.now();
    write();
    this.#spentMs += performance.now() - beganMs;
  }

  #endTurn(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    setImmediate(() => {
      this.#isTurnEnding = false;
      this.#spentMs = 0;
      while (this.#spentMs < this.#turnMs) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        this.#spend(next);
      }
      if (this.#spentMs > 0) this.#endTurn();
    });
  }
}
