import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';

/** A pool of so many pods can spare one. */
const sparesFrom = 4;

/** How many slots of a pool are reserved for image jobs; never its last one. */
export function imageSlotsOf(pool: string, spec: Pick<RunnerPoolSpec, 'concurrency' | 'imageSlots'>): number {
  const { concurrency, imageSlots = pool === poolOfQueue.default && concurrency >= sparesFrom ? 1 : 0 } = spec;
  return Math.max(0, Math.min(imageSlots, concurrency - 1));
}
