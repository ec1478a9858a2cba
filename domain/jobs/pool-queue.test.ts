import { describe, expect, it } from 'vitest';
import { type ActiveGroup, poolQueuesOf } from './pool-queue.ts';

const at = new Date('2026-01-01T00:00:00Z');
const group = (changes: Partial<ActiveGroup>): ActiveGroup => ({
  queue: 'default',
  pool: null,
  isClaimed: false,
  code: null,
  message: null,
  jobs: 1,
  oldestIds: ['a', 'b'],
  oldestAt: at,
  ...changes,
});

describe('the queues of pools', () => {
  it('the pools of both queues are there without jobs', () => {
    const none = { running: 0, waiting: 0, oldestWaitingAt: null, reasons: [] };
    expect(poolQueuesOf([], false)).toEqual([
      { name: 'default', queue: 'default', ...none },
      { name: 'video-large', queue: 'video:large', ...none },
    ]);
  });

  it('the next job of a pool waits for a slot, and the others for those ahead of them', () => {
    const groups = [group({ jobs: 5 }), group({ isClaimed: true, jobs: 3, oldestIds: ['r', 's'] })];
    const [pool] = poolQueuesOf(groups, false);
    expect(pool).toMatchObject({ running: 3, waiting: 5, oldestWaitingAt: at });
    expect(pool?.reasons.map(({ code, jobs, jobId }) => [code, jobs, jobId])).toEqual([
      ['behind_others', 4, 'b'],
      ['pool_full', 1, 'a'],
    ]);
    expect(poolQueuesOf([group({})], false)[0]?.reasons[0]?.code).toBe('next_in_queue');
  });

  it('a claimed job whose controller says why it waits does not run', () => {
    const message = 'No node has 4 CPUs.';
    const groups = [group({ isClaimed: true, code: 'unschedulable', message, jobs: 2, oldestIds: ['u', 'v'] })];
    expect(poolQueuesOf(groups, false)[0]).toMatchObject({
      running: 0,
      waiting: 2,
      reasons: [{ code: 'unschedulable', message, jobs: 2, jobId: 'u' }],
    });
  });

  it('during an outage of the storage nothing waits for its turn', () => {
    const groups = [group({ jobs: 2 }), group({ code: 'next_attempt_later', jobs: 3, oldestIds: ['l'] })];
    expect(poolQueuesOf(groups, true)[0]?.reasons).toEqual([
      expect.objectContaining({ code: 'storage_outage', jobs: 5, jobId: 'a' }),
    ]);
  });

  it('a pool that jobs ask for is listed after the pools of the queues', () => {
    const groups = [group({ pool: 'gpu' }), group({ pool: 'video-large', queue: 'video:large', jobs: 2 })];
    expect(poolQueuesOf(groups, false).map(({ name, queue, waiting }) => [name, queue, waiting])).toEqual([
      ['default', 'default', 0],
      ['video-large', 'video:large', 2],
      ['gpu', null, 1],
    ]);
  });
});
