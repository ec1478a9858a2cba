import type { Backoff } from '#domain/backoff.ts';
import { backoffMs } from '../lifecycle/backoff.ts';
import type { KubeClient, Selection } from './client.ts';
import { type Clock, monotonicClock, sleep } from './clock.ts';
import { isExpired, KubeError } from './errors.ts';
import type { Component } from '../lifecycle/component.ts';
import type { Log } from './log.ts';
import type { KubeObject, Resource } from './objects.ts';
import { type StoreHandlers, Store } from './store.ts';
import { Watchdog } from './watchdog.ts';

// A copy of the API server's objects of one kind, updated by one loop:
//
//   list ──▶ watch ──▶ watch ──▶ … ──▶ list (every `relistEveryMs`)
//     ▲         │ ended by the server, reset, silent or refused: watch again from the last known version
//     └─────────┘ 410, as an HTTP status or as an ERROR event: the versions since are lost, list again
//
// The next list corrects whatever a watch missed. Only `stop()` ends the loop; each error is logged and followed by a
// growing delay, never shorter than a Retry-After.

/** The settings of a reflector; times in milliseconds. */
export interface ReflectorOptions<T extends KubeObject, S extends KubeObject> extends Selection {
  client: KubeClient;
  resource: Resource<T>;
  /** Reduces an object to the fields in use; name, namespace, uid and resourceVersion must stay. Pure. */
  trim: (object: T) => S;
  /** Called for every change of the copy, in order. An error of a handler is logged. */
  handlers?: StoreHandlers<S>;
  log: Log;
  /** Objects a page of a list (500). */
  pageSize?: number;
  /** How long a watch runs: this, and a random share of it again (5 min). */
  watchTimeoutMs?: number;
  /** After this long without an event the connection counts as dead (90 s; bookmarks come about every minute). */
  silenceMs?: number;
  /** How often everything is listed again (10 min, ±10 %). */
  relistEveryMs?: number;
  backoff?: Backoff;
  clock?: Clock;
  random?: () => number;
}

// A watch that ends before this without an event counts as failed: opening it again at once would be a busy loop.
const shortWatchMs = 1000;

/** Lists and watches one kind of object, from `start()` to `stop()`. */
export class Reflector<T extends KubeObject, S extends KubeObject> implements Component {
  readonly name: string;
  readonly #options: Required<Omit<ReflectorOptions<T, S>, keyof Selection | 'handlers'>> & Selection;
  readonly #store: Store<S>;
  readonly #stopping = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #loop: Promise<void> | undefined;
  #hasSynced = false;
  #resourceVersion: string | undefined;
  #relistAtMs = 0;
  #failures = 0;

  constructor(options: ReflectorOptions<T, S>) {
    this.name = `reflector of ${options.resource.plural}`;
    this.#options = {
      pageSize: 500,
      watchTimeoutMs: 300_000,
      silenceMs: 90_000,
      relistEveryMs: 600_000,
      backoff: { baseMs: 500, maxMs: 30_000 },
      clock: monotonicClock,
      random: Math.random,
      ...options,
    };
    this.#store = new Store(options.handlers ?? {}, (error, event, key) => {
      options.log.error({ err: error, event, key, kind: options.resource.kind }, 'reflector handler failed');
    });
    // A stop before the first list rejects this promise, also when no caller waits for it.
    this.#synced.promise.catch(() => {});
  }

  /** Whether the first list is in the copy. Before that, an absent object may still exist. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** How many objects the copy holds. */
  get size(): number {
    return this.#store.size;
  }

  /** Resolves once `hasSynced`; rejects when the reflector is stopped before. */
  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  /** The object of this name in the copy. */
  get(namespace: string | undefined, name: string): S | undefined {
    return this.#store.get(namespace, name);
  }

  /** All objects of the copy; iterate, do not keep. */
  values(): IterableIterator<S> {
    return this.#store.values();
  }

  /**
   * Begins without waiting for the first list, so that a process starts while the API server is away. Throws when
   * called twice or after `stop()`.
   */
  async start(): Promise<void> {
    if (this.#loop) throw new Error(`the ${this.name} was started before`);
    if (this.#stopping.signal.aborted) throw new Error(`the ${this.name} was stopped`);
    this.#loop = this.#run(this.#stopping.signal);
  }

  /** Ends the loop and its request; the copy stays as it is. Resolves when the loop has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`the ${this.name} was stopped`));
    this.#synced.reject(this.#stopping.signal.reason);
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined || clock.nowMs() >= this.#relistAtMs) await this.#relist(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        const delayMs = this.#delayAfter(error);
        if (delayMs > 0) await sleep(clock, delayMs, signal);
      }
    }
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { clock, relistEveryMs, random } = this.#options;
    const { items, resourceVersion } = await listAll(this.#options, { ...this.#selection(), signal });
    if (signal.aborted) return;
    this.#store.replace(items);
    this.#resourceVersion = resourceVersion;
    this.#relistAtMs = clock.nowMs() + relistEveryMs * (0.9 + 0.2 * random());
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, resource, trim, clock, watchTimeoutMs, random } = this.#options;
    const startedMs = clock.nowMs();
    const untilRelistMs = Math.max(1000, this.#relistAtMs - startedMs);
    const timeoutMs = Math.min(untilRelistMs, watchTimeoutMs * (1 + random()));
    using watchdog = new Watchdog(this.name, this.#options, signal);
    const events = client.watch(resource, {
      ...this.#selection(),
      resourceVersion: this.#resourceVersion ?? '',
      timeoutSeconds: Math.ceil(timeoutMs / 1000),
      signal: watchdog.signal,
    });
    let hasEvents = false;
    for await (const event of events) {
      watchdog.reset();
      hasEvents = true;
      this.#failures = 0;
      const version = event.object.metadata?.resourceVersion;
      if (event.type === 'DELETED') this.#store.delete(trim(event.object));
      else if (event.type !== 'BOOKMARK') this.#store.put(trim(event.object));
      if (version !== undefined) this.#resourceVersion = version;
    }
    if (!hasEvents && clock.nowMs() - startedMs < shortWatchMs) {
      throw new KubeError(`watch ${resource.plural}: ended at once`, { status: 0, reason: 'Unreachable' });
    }
    this.#failures = 0;
  }

  // The delay after an error; zero for the first 410, which a new list cures.
  #delayAfter(error: unknown): number {
    const { backoff, random, log, resource } = this.#options;
    this.#failures += 1;
    const hasExpired = isExpired(error);
    if (hasExpired) this.#resourceVersion = undefined;
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    // Spread, or every client would come back at the same moment.
    const spreadMs = retryAfterMs * (1 + 0.2 * random());
    const delayMs =
      hasExpired && this.#failures === 1 ? 0 : Math.max(spreadMs, backoffMs(this.#failures, backoff, random));
    const fields = { err: error, kind: resource.kind, failures: this.#failures, retry_in_ms: Math.round(delayMs) };
    log.warn(fields, hasExpired ? 'watch expired' : 'list or watch failed');
    return delayMs;
  }

  #selection(): Selection {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return { namespace, labelSelector, fieldSelector };
  }
}

/**
 * Lists everything, as pages of one snapshot. When that snapshot expires between two pages, one list without pages
 * replaces it: pages could expire again and again on a slow link.
 */
async function listAll<T extends KubeObject, S extends KubeObject>(
  {
    client,
    resource,
    pageSize,
    trim,
  }: Pick<ReflectorOptions<T, S>, 'client' | 'resource' | 'trim'> & { pageSize: number },
  selection: Selection & { signal: AbortSignal },
): Promise<{ items: S[]; resourceVersion: string }> {
  let page = await client.list(resource, { ...selection, limit: pageSize });
  const items = page.items.map(trim);
  try {
    while (page.metadata.continue) {
      page = await client.list(resource, { ...selection, limit: pageSize, continue: page.metadata.continue });
      for (const item of page.items) items.push(trim(item));
    }
  } catch (error) {
    if (!isExpired(error)) throw error;
    page = await client.list(resource, selection);
    return { items: page.items.map(trim), resourceVersion: versionOf(page.metadata) };
  }
  return { items, resourceVersion: versionOf(page.metadata) };
}

function versionOf(metadata: { resourceVersion?: string }): string {
  if (!metadata.resourceVersion) throw new Error('the list has no resource version');
  return metadata.resourceVersion;
}
