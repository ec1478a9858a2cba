import type { Metrics } from '#platform/telemetry/metrics.ts';
import type { PoolTasks } from './pool-tasks.ts';

/** The numbers of one pool that the metrics show. */
export interface PoolNumbers extends PoolTasks {
  readonly concurrency: number;
  /** Its pods. */
  readonly active: number;
}

type PoolMetrics = Pick<Metrics, 'poolTasks' | 'poolConcurrency' | 'poolOldest'>;

const states = ['pending', 'retry', 'active'] as const;

/** Keeps the series of every RunnerPool; a deleted pool has none, and no pool has one after the end of a term. */
export class PoolGauges {
  readonly #metrics: PoolMetrics;
  #shown: ReadonlySet<string> = new Set();

  constructor(metrics: PoolMetrics) {
    this.#metrics = metrics;
  }

  show(pools: ReadonlyMap<string, PoolNumbers>): void {
    const { poolTasks, poolConcurrency, poolOldest } = this.#metrics;
    for (const [pool, numbers] of pools) {
      poolConcurrency.set({ pool }, numbers.concurrency);
      poolOldest.set({ pool }, numbers.oldestSeconds);
      for (const state of states) poolTasks.set({ pool, state }, numbers[state]);
    }
    for (const pool of this.#shown) {
      if (pools.has(pool)) continue;
      poolConcurrency.remove({ pool });
      poolOldest.remove({ pool });
      for (const state of states) poolTasks.remove({ pool, state });
    }
    this.#shown = new Set(pools.keys());
  }
}
