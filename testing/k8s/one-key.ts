import { PoolTurns } from '../../controller/execution/pool-turns.ts';

/** Turns in pools in which no job waits but those that a test prefers: none of them has to wait for another key. */
export const oneKey = new PoolTurns({
  jobs: { lookAtPool: async () => ({ waiting: [], running: [], ended: [] }) },
  owner: 'kubernetes',
  now: () => 0,
});
