/** Runs work one at a time, in the order of its calls. */
export class OneAtATime {
  #underWay = 0;
  #previous: Promise<unknown> = Promise.resolve();

  /** Whether more than `waitingMax` would wait if one were added. */
  isFull(waitingMax: number): boolean {
    return this.#underWay > waitingMax;
  }

  /** @throws whatever `work` throws; what comes after it runs nevertheless */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    const running = this.#previous.then(work);
    this.#previous = running.catch(() => undefined);
    try {
      return await running;
    } finally {
      this.#underWay -= 1;
    }
  }
}
