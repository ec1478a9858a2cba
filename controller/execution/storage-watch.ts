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
 * Whether the buckets answer. They are checked only after an attempt failed by storage: if one does not answer, the
 * attempt does not count, and admission pauses until both answer or until the outage deadline. Without the pause, every
 * waiting job would start, fail and use up its attempts.
 *
 * The state is this process's own: after a restart, the next attempt that fails by storage finds the outage.
 */
export class StorageWatch implements Component {
  readonly name = 'storage watch';
  readonly #options: StorageWatchOptions & { readonly probeEveryMs: number };
  readonly #stopping = new AbortController();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #awaySinceMs: number | null = null;
  #problem = '';
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

  /** Which bucket is away and why, for people; null while `isAway` is false. */
  get problem(): string | null {
    return this.isAway ? this.#problem : null;
  }

  /** Checks the buckets after an attempt failed by storage: whether that was an outage, which costs no attempt. */
  async isOutage(): Promise<boolean> {
    if (this.#awaySinceMs !== null) return this.isAway;
    const problem = await this.#probe();
    if (problem === null) return false;
    // Another attempt may have found the outage at the same time.
    if (this.#awaySinceMs === null) {
      this.#awaySinceMs = performance.now();
      this.#problem = problemOf(problem);
      this.#watching = this.#watch(problem);
    }
    return this.isAway;
  }

  /**
   * Resolves while both buckets answer, or once an outage lasts longer than its deadline; rejects with the signal's
   * reason.
   */
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
      const { source, media } = this.#options;
      await Promise.all(
        Object.entries({ source, media }).map(([bucket, store]) =>
          pingUnlessRefused(store, signal).catch((cause: unknown) => {
            throw new Error(`the ${bucket} bucket does not answer`, { cause });
          }),
        ),
      );
      return null;
    } catch (error) {
      return error;
    }
  }
}

/** The bucket and the innermost system code (`ECONNREFUSED`), without an address. */
function problemOf(problem: unknown): string {
  const codes: string[] = [];
  for (let at = problem instanceof Error ? problem.cause : null; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    codes.push(typeof code === 'string' && code !== 'storage_error' ? code : at.name);
  }
  const reason = codes.findLast((code) => code !== 'Error') ?? 'no answer';
  return `${problem instanceof Error ? problem.message : 'the storage does not answer'} (${reason})`;
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
