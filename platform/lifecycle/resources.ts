import type { Logger } from '../telemetry/logger.ts';
import { withTimeout } from './with-timeout.ts';

/** How long a resource may take to close once everything that used it has stopped. */
const closeTimeoutMs = 5_000;

/** The resources of a process, such as connections: closed in reverse once its components have stopped. */
export class Resources {
  readonly #opened: { readonly name: string; readonly close: () => Promise<void> }[] = [];

  /** Adds a resource, and returns it. */
  add<T>(name: string, resource: T, close: (resource: T) => Promise<void>): T {
    this.#opened.push({ name, close: () => close(resource) });
    return resource;
  }

  /** Closes all of them, the last one first. One that fails, or takes more than 5 s, is logged and left. */
  async closeAll(log: Logger): Promise<void> {
    for (const { name, close } of this.#opened.splice(0).toReversed()) {
      try {
        await withTimeout(close(), closeTimeoutMs, 'the resource did not close');
      } catch (error) {
        log.warn({ err: error, resource: name }, 'a resource did not close cleanly');
      }
    }
  }
}
