// Writing segments is most of what delivery does on the event loop: the kernel copies half a megabyte in a tenth of a
// millisecond or more, and hundreds of clients may be ready at once. So the bytes that one turn of the loop writes are
// bounded; the rest waits for the next turns, in order, and requests, timers and reads are served in between. Bytes and
// not time, since on a busy machine time passes for others.
//
// What has just been read is in the processor's caches, and costs a third less when it is written before the next
// socket is read. So it passes those that wait, up to a bound of its own.

/** The cost of a write however small it is: as much as the kernel's copying of so many bytes. */
const writeBytesMin = 64 * 1024;

/** The writes of one server, in turns of the event loop. */
export class WriteTurns {
  readonly #turnBytes: number;
  readonly #freshBytes: number;
  readonly #waiting: (() => number)[] = [];
  #writtenBytes = 0;
  #freshWrittenBytes = 0;
  #isTurnEnding = false;

  /** Bytes that one turn of the event loop writes, and those that it writes beside them as they are read. */
  constructor({ turnBytes, freshBytes = 0 }: { readonly turnBytes: number; readonly freshBytes?: number }) {
    this.#turnBytes = turnBytes;
    this.#freshBytes = freshBytes;
  }

  /** Runs `write`, which returns its bytes, in this turn of the event loop while it may, else in a later one. */
  run(write: () => number): void {
    if (this.#waiting.length > 0 || this.#writtenBytes >= this.#turnBytes) this.#waiting.push(write);
    else this.#writtenBytes += costOf(write);
    this.#endTurn();
  }

  /** The same for bytes that have just been read. */
  runFresh(write: () => number): void {
    if (this.#freshWrittenBytes >= this.#freshBytes) return this.run(write);
    this.#freshWrittenBytes += costOf(write);
    this.#endTurn();
  }

  #endTurn(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    setImmediate(() => {
      this.#isTurnEnding = false;
      this.#writtenBytes = 0;
      this.#freshWrittenBytes = 0;
      while (this.#writtenBytes < this.#turnBytes) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        this.#writtenBytes += costOf(next);
      }
      if (this.#writtenBytes > 0) this.#endTurn();
    });
  }
}

function costOf(write: () => number): number {
  return Math.max(write(), writeBytesMin);
}
