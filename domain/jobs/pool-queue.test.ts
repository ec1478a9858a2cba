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

  it.each([
    ['storage_outage', 'The object storage does not answer; nothing starts until it does.'],
    ['media_deletion', 'What was made under their hashes is being deleted; they start after that.'],
    ['next_attempt_later', 'An attempt failed; the next one starts after a pause.'],
    ['suspended', 'suspended'],
  ] as const)('jobs that wait for %s say so where nothing more is known', (code, message) => {
    expect(poolQueuesOf([group({ code })], false)[0]?.reasons).toEqual([{ code, message, jobs: 1, jobId: 'a' }]);
    const known = poolQueuesOf([group({ code, message: 'More.' })], false)[0]?.reasons;
    expect(known).toMatchObject([{ code, message: 'More.' }]);
  });

  it.each([
    [0, 1, ['Nothing of the pool runs: a worker is about to take it.']],
    [0, 2, ['Nothing of the pool runs: a worker is about to take it.', 'Others come first; 0 jobs of the pool run.']],
    [1, 1, ['It is the next; 1 job of the pool runs.']],
    [2, 2, ['It is the next; 2 jobs of the pool run.', 'Others come first; 2 jobs of the pool run.']],
  ])('with %i at work, %i jobs that wait for their turn say that', (running, jobs, messages) => {
    const groups = [group({ jobs }), ...(running === 0 ? [] : [group({ isClaimed: true, jobs: running })])];
    expect(poolQueuesOf(groups, false)[0]?.reasons.map(({ message }) => message)).toEqual(messages);
  });

  it('the oldest job of those that wait says since when, and what most wait for comes first', () => {
    const [early, late] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')];
    const groups = [
      group({ code: 'suspended', oldestAt: late }),
      group({ code: 'node_lost', jobs: 3, oldestAt: late }),
      group({ code: 'suspended', oldestAt: early, oldestIds: ['c'] }),
      group({ isClaimed: true, oldestAt: new Date('2025-01-01T00:00:00Z') }),
    ];
    const [pool] = poolQueuesOf(groups, false);
    expect(pool?.oldestWaitingAt).toEqual(early);
    expect(pool?.reasons.map(({ code, jobs, jobId }) => [code, jobs, jobId])).toEqual([
      ['node_lost', 3, 'a'],
      ['suspended', 2, 'a'],
    ]);
  });
});
