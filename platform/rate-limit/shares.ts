/**
 * Slots that clients share. A client may use at most as many as are free: a greedy one leaves half of them, two leave a
 * third, so there is always a slot for another client.
 */
export class Shares {
  readonly #max: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many clients hold any. */
  get clientCount(): number {
    return this.#held.size;
  }

  /** Takes `count` places; null when the client would hold more than are free, else what gives them back. */
  take(client: string, count = 1): (() => void) | null {
    const held = this.#held.get(client) ?? 0;
    if (held + count > this.#max - this.#total) return null;
    this.#add(client, count);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(client, -count);
      isHeld = false;
    };
  }

  #add(client: string, count: number): void {
    const held = (this.#held.get(client) ?? 0) + count;
    this.#total += count;
    if (held === 0) this.#held.delete(client);
    else this.#held.set(client, held);
  }
}
