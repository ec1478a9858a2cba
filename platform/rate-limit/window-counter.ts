/** The count of a fixed window after one more hit. */
export interface WindowCount {
  readonly count: number;
  /** Until the window ends, at least 1. */
  readonly resetMs: number;
}

/** Counters of rate limits: on Redis, in a table of the database, or in this process. */
export interface WindowCounter {
  /** Counts a hit in the fixed window of `bucket`, atomically. The first hit starts the window. */
  hit(bucket: string, windowMs: number): Promise<WindowCount>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
