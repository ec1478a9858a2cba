// Writing segments is most of what delivery does on the event loop: the kernel copies half a megabyte in a tenth of a
// millisecond or more, and hundreds of clients may be ready at once. So the bytes that one turn of the loop writes are
// bounded; the rest waits for the next turns, in order, and requests, timers and reads are served in between. Bytes and
// not time, since on a busy machine time passes for others, and what waits has left the processor's caches when it is
// written.

/** What a write costs however small it is: as much as the kernel's copying of so many bytes. */
const writeBytesMin = 64 * 1024;

/** The writes of one server, in turns of the event loop. */
export class WriteTurns {
  readonly #turnBytes: number;
  readonly #waiting: (() => number)[] = [];
  #writtenBytes = 0;
  #isTurnEnding = false;

  constructor(turnBytes: number) {
    this.#turnBytes = turnBytes;
  }

  /** Runs `write`, which returns its bytes, in this turn of the event loop while it may, else in a later one. */
  run(write: () => number): void {
    if (this.#waiting.length > 0 || this.#writtenBytes >= this.#turnBytes) this.#waiting.push(write);
    else this.#spend(write);
    this.#endTurn();
  }

  #spend(write: () => number): void {
    this.#writtenBytes += Math.max(write(), writeBytesMin);
  }

  #endTurn(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    setImmediate(() => {
      this.#isTurnEnding = false;
      this.#writtenBytes = 0;
      while (this.#writtenBytes < this.#turnBytes) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        this.#spend(next);
      }
      if (this.#writtenBytes > 0) this.#endTurn();
    });
  }
}
