import { randomBytes } from 'node:crypto';
import type { Component } from '../lifecycle/component.ts';
import { backoffMs } from './backoff.ts';
import { fieldManager, type KubeClient } from './client.ts';
import { type Clock, monotonicClock, sleep } from './clock.ts';
import { hasReason, KubeError } from './errors.ts';
import type { Log } from './log.ts';
import { events, type KubeObject } from './objects.ts';

/** What happened to an object, for `kubectl describe` and `kubectl events`. */
export interface EventInput {
  /** The object it is about, with apiVersion, kind and metadata. */
  regarding: KubeObject;
  type: 'Normal' | 'Warning';
  /** Why, in one UpperCamelCase word that does not change from one time to the next. */
  reason: string;
  /** What was being done, in one UpperCamelCase word. */
  action: string;
  /** For people; cut to 1 kB. */
  note: string;
}

/** How a recorder behaves; times in milliseconds. */
export interface EventRecorderOptions {
  client: KubeClient;
  /** This process among those of our name: its pod, at most 128 characters. */
  instance: string;
  log: Log;
  /** The same happening within this time of the last is counted, not written anew (6 min). */
  seriesMs?: number;
  /** How often the count of a series is written at most (60 s). */
  countEveryMs?: number;
  /** How many writes; what goes beyond is dropped (1 a second, after a burst of 50). */
  rate?: { perSecond: number; burst: number };
  clock?: Clock;
}

interface Series {
  readonly namespace: string;
  readonly happening: EventInput;
  name: string;
  count: number;
  lastMs: number;
  lastObserved: string;
  cancelCount: (() => void) | undefined;
}

// Bounds what is remembered: a series that is forgotten only begins anew.
const seriesMax = 2000;

const triesMax = 3;

/**
 * Writes events of `events.k8s.io/v1`. The first of a kind is written at once; the same again (regarding, type, reason
 * and action alike, whatever the note) is counted in its series. An event is advice: recording never throws, waits for
 * nothing, and gives up after three tries.
 */
export class EventRecorder implements Component {
  readonly name = 'event recorder';
  readonly #options: Required<EventRecorderOptions>;
  readonly #series = new Map<string, Series>();
  readonly #giveUp = new AbortController();
  #writes: Promise<void> = Promise.resolve();
  #paidMs = -Infinity;
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
  }

  /** How many happenings were not written, because there were too many or the API server did not take them. */
  get dropped(): number {
    return this.#dropped;
  }

  async start(): Promise<void> {}

  /** Writes what was counted and waits for it, at most until `signal`. Nothing is recorded afterwards. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#hasStopped = true;
    const giveUp = () => this.#giveUp.abort(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    for (const series of this.#series.values()) if (series.cancelCount) this.#writeCount(series);
    await this.#writes;
    signal.removeEventListener('abort', giveUp);
  }

  /** Takes note of a happening. */
  record(happening: EventInput): void {
    if (this.#hasStopped) return;
    const { clock, seriesMs, countEveryMs } = this.#options;
    const key = keyOf(happening);
    const series = this.#series.get(key);
    if (!series || clock.nowMs() - series.lastMs >= seriesMs) {
      this.#begin(key, happening);
      return;
    }
    series.count += 1;
    series.lastMs = clock.nowMs();
    series.lastObserved = microTime();
    series.cancelCount ??= clock.after(countEveryMs, () => this.#writeCount(series));
  }

  #begin(key: string, happening: EventInput): void {
    this.#series.get(key)?.cancelCount?.();
    this.#series.delete(key);
    if (!this.#mayWrite()) return;
    const series: Series = {
      namespace: happening.regarding.metadata?.namespace ?? 'default',
      happening,
      name: nameFor(happening.regarding),
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
        // The API server forgets events after an hour; a series may last longer.
        series.name = nameFor(series.happening.regarding);
        await this.#create(series);
      }
    });
  }

  async #create({ namespace, name, happening, count, lastObserved }: Series): Promise<void> {
    const { regarding, type, reason, action, note } = happening;
    const { apiVersion, kind, metadata } = regarding;
    await this.#options.client.create(
      events,
      {
        metadata: { namespace, name },
        eventTime: lastObserved,
        reportingController: fieldManager,
        reportingInstance: this.#options.instance.slice(0, 128),
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
        note: cut(note),
        ...(count > 1 ? { series: { count, lastObservedTime: lastObserved } } : {}),
      },
      { signal: this.#giveUp.signal },
    );
  }

  // One write after another: events of one object stay in order, and never many connections are taken for them.
  #enqueue(write: () => Promise<void>): void {
    this.#writes = this.#writes.then(() => this.#tryHard(write));
  }

  async #tryHard(write: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#options;
    for (let tries = 1; !this.#giveUp.signal.aborted; tries += 1) {
      try {
        await write();
        return;
      } catch (error) {
        const isWorthIt =
          error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
        if (!isWorthIt || tries === triesMax) {
          if (!this.#giveUp.signal.aborted) log.warn({ err: error }, 'an event was not written');
          break;
        }
        const askedMs = error.retryAfterMs ?? 0;
        await sleep(clock, Math.max(askedMs, backoffMs(tries, { baseMs: 200, maxMs: 2000 })), this.#giveUp.signal);
      }
    }
    this.#dropped += 1;
  }

  // A leaky bucket, as in the work queue; here what goes beyond is not delayed but left out.
  #mayWrite(): boolean {
    const { clock, rate } = this.#options;
    const shareMs = 1000 / rate.perSecond;
    const nowMs = clock.nowMs();
    const paidMs = Math.max(this.#paidMs, nowMs) + shareMs;
    if (paidMs - nowMs > rate.burst * shareMs) {
      this.#dropped += 1;
      return false;
    }
    this.#paidMs = paidMs;
    return true;
  }

  #forgetOldest(): void {
    if (this.#series.size <= seriesMax) return;
    const [oldest] = this.#series;
    if (!oldest) return;
    oldest[1].cancelCount?.();
    this.#series.delete(oldest[0]);
  }
}

function keyOf({ regarding: { kind, metadata }, type, reason, action }: EventInput): string {
  return JSON.stringify([kind, metadata?.namespace, metadata?.name, metadata?.uid, type, reason, action]);
}

// An event's name must be unique and is read by nobody; it begins with that of its object, as everywhere.
function nameFor({ metadata }: KubeObject): string {
  return `${(metadata?.name ?? 'cluster').slice(0, 230)}.${randomBytes(8).toString('hex')}`;
}

function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

// The API server refuses a note of more than 1024 bytes.
function cut(note: string): string {
  if (Buffer.byteLength(note) <= 1024) return note;
  const bytes = Buffer.from(note).subarray(0, 1021);
  return `${bytes.toString('utf8').replace(/\uFFFD+$/, '')}…`;
}
