import { KnownProblem } from '#domain/errors.ts';
import { BlockPool } from '../../blocks.ts';
import { type RawAddress, type RawAnswer, RawConnection, type RawRequest, type RawShared } from './raw-connection.ts';

/** One timer serves all connections: one each would be a tenth of what this path costs. */
const tickMs = 5;

/**
 * Bounds of the memory that slow readers occupy: a body under way needs about two blocks. Over `crowdedAt`, blocks are
 * smaller; over `max`, requests are refused: 128 × 1 MiB + 512 × 0.45 MiB (64 kB blocks, and what is read ahead).
 */
const bodies = { crowdedAt: 128, max: 640 };
const smallBlockBytes = 64 * 1024;

/** Connections to one server, for reuse. */
export class RawConnections {
  readonly #shared: RawShared;
  readonly #blocks = new BlockPool();
  readonly #smallBlocks = new BlockPool(smallBlockBytes);
  readonly #all = new Set<RawConnection>();
  #idle: RawConnection[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(address: RawAddress) {
    this.#shared = { address, blocks: this.#blocks, nowMs: 0 };
  }

  /**
   * Null when this path cannot serve the object: the caller takes the SDK path, which finds out why.
   * @throws KnownProblem `storage_error` when the server fails or does not answer in time; `busy` for too many bodies
   */
  async get(request: RawRequest, signal?: AbortSignal): Promise<RawAnswer> {
    const underWay = this.#all.size - this.#idle.length;
    if (underWay >= bodies.max) throw new KnownProblem('busy');
    this.#shared.blocks = underWay >= bodies.crowdedAt ? this.#smallBlocks : this.#blocks;
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
