import { EventEmitter, once } from 'node:events';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

interface StorageWatchOptions {
  readonly source: Pick<ObjectStore, 'ping'>;
  readonly media: Pick<ObjectStore, 'ping'>;
  /** Records an outage for the other processes; called every `probeEveryMs` while it lasts. */
  readonly recordOutage?: () => Promise<void>;
  readonly log: Logger;
  /** `OUTAGE_DEADLINE`: how long an outage costs no attempt and pauses admission. */
  readonly outageDeadlineMs: number;
  /** How often the buckets are checked during an outage. */
  readonly probeEveryMs?: number;
}

/** A bucket that does not answer within this time counts as away. */
const probeTimeoutMs = 5_000;

/**
 * Whether the buckets answer. The buckets are checked only after an attempt failed by storage: if one of them does not
 * answer, the attempt costs nothing and admission pauses until both answer, or until the outage deadline. Without the
 * pause, every waiting job would start, fail and use up its attempts.
 *
 * The state is this process's own: after a restart, the first attempt that fails by storage finds the outage again.
 */
export class StorageWatch implements Component {
  readonly name = 'storage watch';
  readonly #options: StorageWatchOptions & { readonly probeEveryMs: number };
  readonly #stopping = new AbortController();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #awaySinceMs: number | null = null;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: StorageWatchOptions) {
    this.#options = { probeEveryMs: 5_000, ...options };
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }

  /** Whether a bucket is away, for less than the outage deadline. */
  get isAway(): boolean {
    return this.#awaySinceMs !== null && performance.now() - this.#awaySinceMs < this.#options.outageDeadlineMs;
  }

  /** Checks the buckets after an attempt failed by storage: whether that was an outage, which costs no attempt. */
  async isOutage(): Promise<boolean> {
    if (this.#awaySinceMs !== null) return this.isAway;
    const problem = await this.#probe();
    if (problem === null) return false;
    // Another attempt may have found the outage at the same time.
    if (this.#awaySinceMs === null) {
      this.#awaySinceMs = performance.now();
      this.#watching = this.#watch(problem);
    }
    return this.isAway;
  }

  /** Resolves while both buckets answer, or once an outage lasts longer than its deadline; rejects with the signal's reason. */
  async whenAvailable(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.isAway) await once(this.#changed, 'changed', { signal });
  }

  async #watch(problem: unknown): Promise<void> {
    const { log, probeEveryMs, outageDeadlineMs } = this.#options;
    const { signal } = this.#stopping;
    log.error({ err: problem, outage_deadline_ms: outageDeadlineMs }, 'storage does not answer, admission paused');
    let isPaused = true;
    while (!signal.aborted) {
      await this.#options.recordOutage?.().catch((err: unknown) => log.debug({ err }, 'storage outage not recorded'));
      await pause(probeEveryMs, signal);
      if (signal.aborted) return;
      if ((await this.#probe()) === null) break;
      if (isPaused && !this.isAway) {
        isPaused = false;
        log.error({}, 'storage outage exceeds its deadline, admission resumed');
        this.#changed.emit('changed');
      }
    }
    const awayMs = performance.now() - (this.#awaySinceMs ?? 0);
    this.#awaySinceMs = null;
    this.#changed.emit('changed');
    log.info({ away_ms: Math.round(awayMs) }, 'storage answers again');
  }

  /** Why a bucket is away; null when both answer. */
  async #probe(): Promise<unknown> {
    try {
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(probeTimeoutMs)]);
      await Promise.all([this.#options.source, this.#options.media].map((store) => pingUnlessRefused(store, signal)));
      return null;
    } catch (error) {
      return error;
    }
  }
}

/** A refusal is an answer: a key may allow reading objects and not the bucket. */
async function pingUnlessRefused(store: Pick<ObjectStore, 'ping'>, signal: AbortSignal): Promise<void> {
  try {
    await store.ping(signal);
  } catch (error) {
    const { cause } = error as { cause?: { $metadata?: { httpStatusCode?: number } } };
    const status = cause?.$metadata?.httpStatusCode ?? 0;
    if (status < 400 || status >= 500) throw error;
  }
}
