import { randomBytes } from 'node:crypto';
import type { Component } from '../lifecycle/component.ts';
import { backoffMs } from '../lifecycle/backoff.ts';
import { TokenBucket, type TokenRate } from '#platform/concurrency/token-bucket.ts';
import { fieldManager, type KubeClient } from './client.ts';
import { type Clock, monotonicClock, sleep } from './clock.ts';
import { hasReason, KubeError } from './errors.ts';
import type { Log } from './log.ts';
import { events, type KubeObject } from './objects.ts';

/** An event of an object, as `kubectl describe` and `kubectl events` show it. */
export interface EventInput {
  /** The object it is about, with apiVersion, kind and metadata. */
  regarding: KubeObject;
  type: 'Normal' | 'Warning';
  /** Why, in one UpperCamelCase word that is the same each time. */
  reason: string;
  /** The action that was taken or failed, in one UpperCamelCase word. */
  action: string;
  /** For people; cut to 1 kB. */
  note: string;
}

/** The settings of a recorder; times in milliseconds. */
export interface EventRecorderOptions {
  client: KubeClient;
  /** The name of this process: its pod, at most 128 characters. */
  instance: string;
  log: Log;
  /** The same event within this time of the last is counted, not written again (6 min). */
  seriesMs?: number;
  /** The shortest time between two writes of a series' count (60 s). */
  countEveryMs?: number;
  /** The rate of writes; events beyond it are dropped (1 a second, after a burst of 50). */
  rate?: TokenRate;
  clock?: Clock;
}

interface Series {
  readonly namespace: string;
  readonly event: EventInput;
  name: string;
  count: number;
  lastMs: number;
  lastObserved: string;
  cancelCount: (() => void) | undefined;
}

// Bounds the memory: a series that is forgotten only begins again.
const seriesMax = 2000;

const triesMax = 3;

/**
 * Writes events of `events.k8s.io/v1`. The first is written at once; a repetition (same regarding, type, reason and
 * action) is counted in its series. Recording never throws, never waits, and gives up after three tries.
 */
export class EventRecorder implements Component {
  readonly name = 'event recorder';
  readonly #options: Required<EventRecorderOptions>;
  readonly #series = new Map<string, Series>();
  readonly #giveUp = new AbortController();
  #writes: Promise<void> = Promise.resolve();
  readonly #rate: TokenBucket;
  #dropped = 0;
  #hasStopped = false;

  constructor(options: EventRecorderOptions) {
    this.#options = {
      seriesMs: 360_000,
      countEveryMs: 60_000,
      rate: { perSecond: 1, burst: 50 },
      clock: monotonicClock,
      ...options,
    };
    this.#rate = new TokenBucket(this.#options.rate);
  }

  /** How many events were not written: beyond the rate, or refused by the API server. */
  get dropped(): number {
    return this.#dropped;
  }

  async start(): Promise<void> {}

  /** Writes the pending counts, at most until `signal` aborts. Later events are not recorded. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#hasStopped = true;
    const giveUp = () => this.#giveUp.abort(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    for (const series of this.#series.values()) if (series.cancelCount) this.#writeCount(series);
    await this.#writes;
    signal.removeEventListener('abort', giveUp);
  }

  /** Records an event. */
  record(event: EventInput): void {
    if (this.#hasStopped) return;
    const { clock, seriesMs, countEveryMs } = this.#options;
    const key = seriesKey(event);
    const series = this.#series.get(key);
    if (!series || clock.nowMs() - series.lastMs >= seriesMs) {
      this.#begin(key, event);
      return;
    }
    series.count += 1;
    series.lastMs = clock.nowMs();
    series.lastObserved = microTime();
    series.cancelCount ??= clock.after(countEveryMs, () => this.#writeCount(series));
  }

  #begin(key: string, event: EventInput): void {
    this.#series.get(key)?.cancelCount?.();
    this.#series.delete(key);
    if (!this.#mayWrite()) return;
    const series: Series = {
      namespace: event.regarding.metadata?.namespace ?? 'default',
      event,
      name: nameFor(event.regarding),
      count: 1,
      lastMs: this.#options.clock.nowMs(),
      lastObserved: microTime(),
      cancelCount: undefined,
    };
    this.#series.set(key, series);
    this.#forgetOldest();
    this.#enqueue(() => this.#create(series));
  }

  #writeCount(series: Series): void {
    series.cancelCount?.();
    series.cancelCount = undefined;
    if (!this.#mayWrite()) return;
    this.#enqueue(async () => {
      const { namespace, name, count, lastObserved } = series;
      const patch = { series: { count, lastObservedTime: lastObserved } };
      try {
        await this.#options.client.mergePatch(events, { namespace, name }, patch, { signal: this.#giveUp.signal });
      } catch (error) {
        if (!hasReason(error, 'NotFound')) throw error;
        // The API server deletes events after an hour; a series may last longer.
        series.name = nameFor(series.event.regarding);
        await this.#create(series);
      }
    });
  }

  async #create(series: Series): Promise<void> {
    const { client, instance } = this.#options;
    await client.create(events, seriesEvent(series, instance), { signal: this.#giveUp.signal });
  }

  // One write after another: events of one object stay in order, and take one connection.
  #enqueue(write: () => Promise<void>): void {
    this.#writes = this.#writes.then(() => this.#writeWithRetries(write));
  }

  async #writeWithRetries(write: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#options;
    for (let tries = 1; !this.#giveUp.signal.aborted; tries += 1) {
      try {
        await write();
        return;
      } catch (error) {
        const isRetryable =
          error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
        if (!isRetryable || tries === triesMax) {
          if (!this.#giveUp.signal.aborted) log.warn({ err: error }, 'event could not be written');
          break;
        }
        const retryAfterMs = error.retryAfterMs ?? 0;
        await sleep(clock, Math.max(retryAfterMs, backoffMs(tries, { baseMs: 200, maxMs: 2000 })), this.#giveUp.signal);
      }
    }
    this.#dropped += 1;
  }

  #mayWrite(): boolean {
    const nowMs = this.#options.clock.nowMs();
    const isAllowed = this.#rate.hasToken(nowMs);
    if (isAllowed) this.#rate.take(nowMs);
    else this.#dropped += 1;
    return isAllowed;
  }

  #forgetOldest(): void {
    if (this.#series.size <= seriesMax) return;
    const [oldest] = this.#series;
    if (!oldest) return;
    oldest[1].cancelCount?.();
    this.#series.delete(oldest[0]);
  }
}

/** The event of a series, with its count where it was observed more than once. */
function seriesEvent({ namespace, name, event, count, lastObserved }: Series, instance: string) {
  const { regarding, type, reason, action, note } = event;
  const { apiVersion, kind, metadata } = regarding;
  return {
    metadata: { namespace, name },
    eventTime: lastObserved,
    reportingController: fieldManager,
    reportingInstance: instance.slice(0, 128),
    regarding: {
      ...(apiVersion === undefined ? {} : { apiVersion }),
      ...(kind === undefined ? {} : { kind }),
      ...(metadata?.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(metadata?.name === undefined ? {} : { name: metadata.name }),
      ...(metadata?.uid === undefined ? {} : { uid: metadata.uid }),
    },
    type,
    reason,
    action,
    note: truncated(note),
    ...(count > 1 ? { series: { count, lastObservedTime: lastObserved } } : {}),
  };
}

function seriesKey({ regarding: { kind, metadata }, type, reason, action }: EventInput): string {
  return JSON.stringify([kind, metadata?.namespace, metadata?.name, metadata?.uid, type, reason, action]);
}

// The name of an event must be unique; by convention it begins with the name of its object.
function nameFor({ metadata }: KubeObject): string {
  return `${(metadata?.name ?? 'cluster').slice(0, 230)}.${randomBytes(8).toString('hex')}`;
}

function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

// The API server refuses a note of more than 1024 bytes.
function truncated(note: string): string {
  if (Buffer.byteLength(note) <= 1024) return note;
  const bytes = Buffer.from(note).subarray(0, 1021);
  return `${bytes.toString('utf8').replace(/\uFFFD+$/, '')}…`;
}
