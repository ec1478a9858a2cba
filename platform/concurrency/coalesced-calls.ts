/** How calls are put together. */
interface CoalesceOptions<Call, Result> {
  /**
   * Does all calls together; returns a result, or a promise of one, for each in order. When it throws, every call
   * rejects.
   */
  readonly run: (calls: readonly Call[]) => Promise<readonly (Result | Promise<Result>)[]>;
  readonly sizeMax: number;
  /** Batches under way at the same time, at most. */
  readonly atOnceMax: number;
}

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Coalesces concurrent calls into batches, so that they share the cost of a round trip. No call waits for later ones: a
 * batch has the calls of one turn of the event loop, or calls that came while earlier batches were under way.
 */
export class CoalescedCalls<Call, Result> {
  readonly #options: CoalesceOptions<Call, Result>;
  #waiting: Waiting<Call, Result>[] = [];
  #underWay = 0;
  #isScheduled = false;

  constructor(options: CoalesceOptions<Call, Result>) {
    this.#options = options;
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After what this turn of the loop has read: requests that came together are added one after another.
    setImmediate(() => {
      this.#isScheduled = false;
      while (this.#waiting.length > 0 && this.#underWay < this.#options.atOnceMax) void this.#next();
    });
  }

  async #next(): Promise<void> {
    const batch = this.#waiting.slice(0, this.#options.sizeMax);
    this.#waiting = this.#waiting.slice(batch.length);
    this.#underWay += 1;
    try {
      const results = await this.#options.run(batch.map(({ call }) => call));
      if (results.length !== batch.length) throw new Error(`${batch.length} calls had ${results.length} results`);
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result | Promise<Result>);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#underWay -= 1;
      if (this.#waiting.length > 0) this.#schedule();
    }
  }
}
