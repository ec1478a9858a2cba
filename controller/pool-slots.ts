import type { PoolStore } from '#platform/postgres/pool-store.ts';
import type { Executor } from './executor.ts';
import type { PeriodicTask } from './periodic-component.ts';

interface SlotsDependencies {
  readonly executor: Pick<Executor, 'lease' | 'slots'>;
  readonly poolCopy: Pick<PoolStore, 'recordSlots'>;
}

/** Records how many slots of its pools are in use, for people. */
export function poolSlotsTask({ executor, poolCopy }: SlotsDependencies): PeriodicTask {
  return { name: 'pool slots', work: () => poolCopy.recordSlots(executor.lease.owner, executor.slots()) };
}
