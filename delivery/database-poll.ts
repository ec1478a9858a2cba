import { pause } from '#platform/lifecycle/backoff.ts';
import { withTimeout } from '#platform/lifecycle/with-timeout.ts';
import { isTableMissing } from '#platform/postgres/database-away.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

const askEveryMs = 1_000;
const readAllEveryMs = 30_000;
const firstAnswerMsMax = 2_000;

interface PollDependencies {
  /** Reads all, or what changed lately. */
  readonly read: (isWhole: boolean) => Promise<void>;
  /** Called once for each outage, which may last. */
  readonly onFailure: (error: unknown) => void;
  readonly log: Pick<Logger, 'info'>;
}

/**
 * Keeps a server's memory of the database fresh: what changed is read every second, everything every half minute and
 * after an outage.
 */
export class DatabasePoll {
  readonly #dependencies: PollDependencies;
  readonly #stopping = new AbortController();
  #readAllAtMs = 0;
  /** By the database, when it was asked last. */
  #isAnswered = true;
  #ended = Promise.resolve();

  constructor(dependencies: PollDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when the database has answered once; without one that answers, after two seconds. */
  async start(): Promise<void> {
    const begun = this.#readOrReport();
    this.#ended = begun.then(() => this.#repeat());
    await withTimeout(begun, firstAnswerMsMax, 'the database was not read').catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #repeat(): Promise<void> {
    for (;;) {
      await pause(askEveryMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      await this.#readOrReport();
    }
  }

  async #readOrReport(): Promise<void> {
    try {
      const isWhole = performance.now() >= this.#readAllAtMs;
      await this.#dependencies.read(isWhole);
      if (isWhole) this.#readAllAtMs = performance.now() + readAllEveryMs;
      this.#isAnswered = true;
    } catch (error) {
      if (this.#isAnswered) this.#report(error);
      this.#isAnswered = false;
      // What changed meanwhile may be older than what is asked for each second.
      this.#readAllAtMs = 0;
    }
  }

  #report(error: unknown): void {
    // At the first start on an empty database, which another component or process migrates meanwhile.
    if (isTableMissing(error)) this.#dependencies.log.info({}, 'database is not migrated yet, asking again');
    else this.#dependencies.onFailure(error);
  }
}
