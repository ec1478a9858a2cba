/** The count of a fixed window after one more hit. */
export interface WindowCount {
  readonly count: number;
  /** Until the window ends, at least 1. */
  readonly resetMs: number;
}

/** The key-value store: limits and small caches. On Redis, or on a table of the database. */
export interface WindowCounter {
  /** Counts a hit in the fixed window of `bucket`, atomically. */
  hit(bucket: string, windowMs: number): Promise<WindowCount>;
  get(key: string): Promise<string | null>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
