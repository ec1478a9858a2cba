import { BlockPool } from '../blocks.ts';
import type { Download } from '../object-store.ts';
import { type RawAddress, RawConnection, type RawRequest, type RawShared } from './raw-connection.ts';

/** One timer serves all connections: one each would be a tenth of what this path costs. */
const tickMs = 5;

/** Connections to one server, kept for the next request. */
export class RawConnections {
  readonly #shared: RawShared;
  readonly #all = new Set<RawConnection>();
  #idle: RawConnection[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(address: RawAddress) {
    this.#shared = { address, blocks: new BlockPool(), nowMs: 0 };
  }

  /**
   * Null when this path does not lead to the object: the caller takes the SDK path, and learns why.
   * @throws KnownProblem `storage_error` when the server does not answer in time
   */
  get(request: RawRequest, signal?: AbortSignal): Promise<Download | null> {
    this.#shared.nowMs = performance.now();
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref();
    return this.#connection().get(request, signal);
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  #tick(): void {
    this.#shared.nowMs = performance.now();
    for (const connection of this.#all) connection.onTick();
    if (this.#all.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #connection(): RawConnection {
    // The one used last: the others reach their idle timeout.
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
