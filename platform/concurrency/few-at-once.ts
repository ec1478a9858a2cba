/** Runs at most so much work at once; more waits, in the order of its calls. */
export class FewAtOnce {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether more than `waitingMax` would wait if one were added. */
  isFull(waitingMax: number): boolean {
    return this.#underWay + this.#waiting.length - this.#max >= waitingMax;
  }

  /** @throws whatever `work` throws; what comes after it runs nevertheless */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay -= 1;
      // Its place goes on to the one that waited the longest.
      else next();
    }
  }
}
