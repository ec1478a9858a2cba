/** Calls for one key at once are one call, whose result each gets. */
export class SharedCalls<Result> {
  readonly #underWay = new Map<string, Promise<Result>>();

  /** The call that is under way for `key`. */
  get(key: string): Promise<Result> | undefined {
    return this.#underWay.get(key);
  }

  /** Joins the call that is under way for `key`, else begins one. Rejects, or throws, as `call` does. */
  run(key: string, call: () => Promise<Result>): Promise<Result> {
    const running = this.#underWay.get(key);
    if (running !== undefined) return running;
    const begun = call().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, begun);
    return begun;
  }
}
