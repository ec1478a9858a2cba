/** Queues of clients that take turns, so that a client with one entry does not wait for all of another's. */
export class FairQueue<Entry extends { readonly client: string }> {
  /** By client, the one whose turn is next first. */
  readonly #queues = new Map<string, Entry[]>();

  push(entry: Entry): void {
    this.#queueOf(entry.client).push(entry);
  }

  /** Puts an entry before the others of its client. */
  pushFirst(entry: Entry): void {
    this.#queueOf(entry.client).unshift(entry);
  }

  /** The next entry that may be taken, which leaves the queue; a client whose entry may not keeps its turn. */
  take(mayTake: (entry: Entry) => boolean = () => true): Entry | null {
    for (const [client, queue] of this.#queues) {
      const [entry] = queue;
      if (entry === undefined || !mayTake(entry)) continue;
      queue.shift();
      this.#queues.delete(client);
      if (queue.length > 0) this.#queues.set(client, queue);
      return entry;
    }
    return null;
  }

  /**
   * How long another entry of `client` would wait, in times that one takes, where `atOnce` are taken together and of
   * this client at most `ofClient`, if nothing is added meanwhile.
   */
  roundsBefore(client: string, { atOnce, ofClient }: { readonly atOnce: number; readonly ofClient: number }): number {
    const own = this.#queues.get(client)?.length ?? 0;
    let ahead = 0;
    for (const queue of this.#queues.values()) ahead += Math.min(queue.length, own + 1);
    return Math.max(ahead / atOnce, own / ofClient);
  }

  /** Takes all. */
  drain(): Entry[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    return all;
  }

  #queueOf(client: string): Entry[] {
    const queue = this.#queues.get(client) ?? [];
    this.#queues.set(client, queue);
    return queue;
  }
}
