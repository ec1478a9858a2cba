import { BlockPool } from '../blocks.ts';
import type { Download } from '../object-store.ts';
import { type RawAddress, RawConnection, type RawRequest, type RawShared } from './raw-connection.ts';

/** One clock looks after all connections: timers for each would be a tenth of what this way costs. */
const tickMs = 5;

/** Connections to one server, kept for the next request. */
export class RawConnections {
  readonly #shared: RawShared;
  readonly #all = new Set<RawConnection>();
  #idle: RawConnection[] = [];
  #clock: NodeJS.Timeout | null = null;

  constructor(address: RawAddress) {
    this.#shared = { address, blocks: new BlockPool(), nowMs: 0 };
  }

  /**
   * Null when this way does not lead there: the caller takes another, and learns what is wrong.
   * @throws KnownProblem `storage_error` when the server does not answer in time
   */
  ask(request: RawRequest, signal?: AbortSignal): Promise<Download | null> {
    this.#shared.nowMs = performance.now();
    this.#clock ??= setInterval(() => this.#tick(), tickMs).unref();
    return this.#connection().ask(request, signal);
  }

  close(): void {
    for (const connection of this.#all) connection.end();
  }

  #tick(): void {
    this.#shared.nowMs = performance.now();
    for (const connection of this.#all) connection.onTick();
    if (this.#all.size > 0 || this.#clock === null) return;
    clearInterval(this.#clock);
    this.#clock = null;
  }

  #connection(): RawConnection {
    // The one used last: the others grow old and are closed by the server or by the clock.
    const kept = this.#idle.pop();
    if (kept !== undefined) return kept;
    const connection = new RawConnection(this.#shared, {
      onIdle: () => this.#idle.push(connection),
      onEnd: () => {
        this.#all.delete(connection);
        this.#idle = this.#idle.filter((other) => other !== connection);
      },
    });
    this.#all.add(connection);
    return connection;
  }
}
