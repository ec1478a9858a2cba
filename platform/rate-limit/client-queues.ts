interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Runs the work of each client at most a few at once: what a client requests beyond that waits behind its own work, so
 * a burst of one client costs the others little of each turn of the event loop.
 */
export class ClientQueues {
  readonly #max: number;
  readonly #queues = new Map<string, Queue>();

  /** `max`: how much work of one client runs at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** How many clients have any work. */
  get clientCount(): number {
    return this.#queues.size;
  }

  async run<T>(client: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(client) ?? { running: 0, waiting: [] };
    this.#queues.set(client, queue);
    if (queue.running < this.#max) queue.running += 1;
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#passOn(client, queue);
    }
  }

  /** The place of work that has ended is the next one's. */
  #passOn(client: string, queue: Queue): void {
    const next = queue.waiting.shift();
    if (next !== undefined) return next();
    queue.running -= 1;
    if (queue.running === 0) this.#queues.delete(client);
  }
}
