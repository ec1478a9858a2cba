/**
 * A value that is made at its first use, for all uses. A failure is not remembered: what was short for a moment, a
 * descriptor or memory, may be there at the next use.
 */
export class Once<T> {
  readonly #make: () => Promise<T>;
  #made: Promise<T> | null = null;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  /** @throws whatever making it throws */
  get(): Promise<T> {
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = null;
      throw error;
    });
    return this.#made;
  }

  /** The value that is made or being made; null before the first use and after a failure. */
  current(): Promise<T> | null {
    return this.#made;
  }
}
