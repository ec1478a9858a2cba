import type { WindowCount, WindowCounter } from './window-counter.ts';

/** Above this the bucket that was hit the longest ago is dropped, so that made-up buckets cannot fill the memory. */
const bucketsMax = 10_000;

/**
 * Counts in the memory of this process: while the shared counter does not answer, and in a server of the surface
 * `delivery` without Redis.
 */
export function openProcessWindowCounter(clock: () => Date): WindowCounter {
  // A map keeps the order of insertion: its first entry is the one that was hit the longest ago.
  const windows = new Map<string, { count: number; readonly endsAtMs: number }>();
  const hit = (bucket: string, windowMs: number): WindowCount => {
    const nowMs = clock().getTime();
    const found = windows.get(bucket);
    const window = found !== undefined && found.endsAtMs > nowMs ? found : { count: 0, endsAtMs: nowMs + windowMs };
    window.count += 1;
    windows.delete(bucket);
    windows.set(bucket, window);
    const oldest = windows.keys().next();
    if (windows.size > bucketsMax && !oldest.done) windows.delete(oldest.value);
    return { count: window.count, resetMs: Math.max(1, window.endsAtMs - nowMs) };
  };
  return {
    hit: (bucket, windowMs) => Promise.resolve(hit(bucket, windowMs)),
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
