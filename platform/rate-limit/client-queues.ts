import { KnownProblem } from '#domain/errors.ts';

interface Queue {
  running: number;
  readonly waiting: Set<() => void>;
}

/**
 * Runs the work of each client at most a few at once: what a client requests beyond that waits behind its own work, so
 * a burst of one client costs the others little of each turn of the event loop.
 */
export class ClientQueues {
  readonly #max: number;
  readonly #waitMsMax: number;
  readonly #queues = new Map<string, Queue>();

  /** `max`: how much work of one client runs at once. Work that waits for longer than `waitMsMax` is refused. */
  constructor(max: number, waitMsMax: number) {
    this.#max = max;
    this.#waitMsMax = waitMsMax;
  }

  /** How many clients have any work. */
  get clientCount(): number {
    return this.#queues.size;
  }

  /** @throws KnownProblem `busy` when the work has not begun in time */
  async run<T>(client: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(client) ?? { running: 0, waiting: new Set() };
    this.#queues.set(client, queue);
    if (queue.running < this.#max) queue.running += 1;
    else await this.#turn(queue);
    try {
      return await work();
    } finally {
      this.#passOn(client, queue);
    }
  }

  #turn({ waiting }: Queue): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        waiting.delete(begin);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(begin);
        reject(new KnownProblem('busy'));
      }, this.#waitMsMax);
      waiting.add(begin);
    });
  }

  /** The place of work that has ended is the next one's. */
  #passOn(client: string, queue: Queue): void {
    // A set keeps the order of insertion.
    const [next] = queue.waiting;
    if (next !== undefined) return next();
    queue.running -= 1;
    if (queue.running === 0) this.#queues.delete(client);
  }
}
