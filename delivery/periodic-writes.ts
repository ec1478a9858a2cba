import { pause } from '#platform/lifecycle/backoff.ts';
import { withTimeout } from '#platform/lifecycle/with-timeout.ts';

const everyMs = 10_000;
const lastWriteMsMax = 2_000;

interface PeriodicWritesDependencies {
  /** Writes what was counted so far; when it fails, that is kept for the next call. */
  readonly write: () => Promise<void>;
  /** Called once for each outage: it lasts, and so does a role that may not write. */
  readonly onFailure: (error: unknown) => void;
}

/** Writes what a server has counted to the database, every ten seconds and when it stops. */
export class PeriodicWrites {
  readonly #dependencies: PeriodicWritesDependencies;
  readonly #stopping = new AbortController();
  /** By the database, when it was written to last. */
  #isWritten = true;
  #ended = Promise.resolve();

  constructor(dependencies: PeriodicWritesDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#ended = this.#repeat();
  }

  /** Writes what is left, for two seconds at most. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
    await withTimeout(this.write(), lastWriteMsMax, 'the last counts were not written').catch(() => undefined);
  }

  /** Writes once; a failure is reported. */
  async write(): Promise<void> {
    const { write, onFailure } = this.#dependencies;
    try {
      await write();
      this.#isWritten = true;
    } catch (error) {
      if (this.#isWritten) onFailure(error);
      this.#isWritten = false;
    }
  }

  async #repeat(): Promise<void> {
    for (;;) {
      await pause(everyMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      await this.write();
    }
  }
}
