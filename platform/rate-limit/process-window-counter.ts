import type { WindowCounter, WindowCount } from './window-counter.ts';

/** What was not asked for longest goes first above this, so that made-up keys cannot fill the memory. */
const entriesMax = 10_000;

interface Entry {
  readonly value: string;
  count: number;
  readonly endsAtMs: number;
}

/**
 * The key-value store of one process, which nobody shares: what is left of limits while the real one is away, and all
 * there is in a server of the surface `delivery` without one.
 *
 * @param clock what time it is
 */
export function openProcessWindowCounter(clock: () => Date): WindowCounter {
  const entries = new Map<string, Entry>();
  const find = (key: string) => {
    const entry = entries.get(key);
    return entry !== undefined && entry.endsAtMs > clock().getTime() ? entry : null;
  };
  const keep = (key: string, entry: Entry) => {
    // A map keeps the order of insertion, so its first entry is the one that was used longest ago.
    entries.delete(key);
    entries.set(key, entry);
    const oldest = entries.keys().next();
    if (entries.size > entriesMax && !oldest.done) entries.delete(oldest.value);
  };
  const hit = (key: string, windowMs: number): WindowCount => {
    const nowMs = clock().getTime();
    const entry = find(key) ?? { value: '', count: 0, endsAtMs: nowMs + windowMs };
    entry.count += 1;
    keep(key, entry);
    return { count: entry.count, resetMs: Math.max(1, entry.endsAtMs - nowMs) };
  };
  return {
    hit: (bucket, windowMs) => Promise.resolve(hit(`hits:${bucket}`, windowMs)),
    get: (key) => Promise.resolve(find(`value:${key}`)?.value ?? null),
    set: (key, value, ttlMs) => {
      keep(`value:${key}`, { value, count: 0, endsAtMs: clock().getTime() + ttlMs });
      return Promise.resolve();
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
