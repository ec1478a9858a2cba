import { describe, expect, it, vi } from 'vitest';
import type { QueuedKey } from '#platform/postgres/turn-rows.ts';
import { exampleJob } from '../../../testing/example-job.ts';
import { oneKey } from '../../../testing/k8s/one-key.ts';
import { PoolTurns } from '../../execution/pool-turns.ts';
import { attemptJobName } from '../snapshots/names.ts';
import { ClaimedJobs } from './claimed-jobs.ts';
import { imageSlotsOf } from './image-slots.ts';
import { PoolSlots } from './pool-slots.ts';

const job = (id: string) => exampleJob({ id });
const claim = (priority = 0, isImage = false) => ({ pool: 'default', isSuspended: false, priority, isImage });

/** Slots of a pool; Postgres lets every job be claimed except the lost ones. */
function slotsOf(concurrency: number, { lost = [] as readonly string[], imageSlots = 0 } = {}): PoolSlots {
  return new PoolSlots({
    turns: oneKey,
    claimed: new ClaimedJobs(),
    concurrencyOf: (pool) => (pool === 'default' ? concurrency : 0),
    imageSlotsOf: () => imageSlots,
    jobs: { claim: ({ jobId }) => Promise.resolve(lost.includes(jobId) ? null : job(jobId)) },
  });
}

describe('the slots of a pool', () => {
  it('the slots of a pool are as many as its concurrency allows beside the claimed jobs', () => {
    const slots = slotsOf(2);
    slots.add(job('a'), claim());
    expect(slots.freeForTickets('default')).toBe(1);
    expect(slots.freeForTickets('absent')).toBe(0);
  });

  it('the slots of a pool are reserved for queued jobs with a priority, and claimed highest priority first', async () => {
    const slots = slotsOf(2);
    for (const [id, priority] of [
      ['low', 1],
      ['high', 9],
      ['middle', 5],
    ] as const)
      slots.prefer(job(id), claim(priority));
    expect(slots.freeForTickets('default')).toBe(0);
    expect(await slots.claimPreferred()).toEqual(['high', 'middle']);
    expect(await slots.claimPreferred()).toEqual([]);
    slots.claimed.remove('high');
    expect(await slots.claimPreferred()).toEqual(['low']);
  });

  it('the slots of a pool are free for tickets again when a preferred job was claimed elsewhere or has ended', async () => {
    const slots = slotsOf(1, { lost: ['ended'] });
    slots.prefer(job('ended'), claim(3));
    expect(await slots.claimPreferred()).toEqual([]);
    expect(slots.freeForTickets('default')).toBe(1);
  });

  it('must be given up by a batch when the pool is scaled down, or a preferred job finds none free', () => {
    const slots = slotsOf(2);
    slots.add(job('a'), claim());
    slots.add(job('batch'), claim(0, true));
    expect(slots.mustYield('default')).toBe(false);
    slots.prefer(job('urgent'), claim(5));
    expect(slots.mustYield('default')).toBe(true);
    slots.unprefer('urgent');
    slots.add(job('c'), claim());
    expect(slots.mustYield('default')).toBe(true);
  });

  it('claimed jobs without a Job wait for the slots of a pool, highest priority first', () => {
    const slots = slotsOf(3);
    slots.add(job('first'), claim());
    slots.add(job('running'), claim());
    slots.add(job('urgent'), claim(7));
    slots.running.beginCreation('mj-running-1', { jobId: 'running', pool: 'default' });
    expect(slots.waitingIn('default')).toEqual(['urgent', 'first']);
  });

  it('that are reserved for images are taken by image jobs alone, which may have the others too', async () => {
    const slots = slotsOf(4, { imageSlots: 1 });
    expect([slots.freeForTickets('default'), slots.freeForImages('default')]).toEqual([3, 4]);
    for (const id of ['a', 'b', 'c']) expect(await slots.claim(job(id), claim())).toBe(true);
    expect([slots.freeForTickets('default'), slots.freeForImages('default')]).toEqual([0, 1]);
    expect(await slots.claim(job('d'), claim())).toBe(false);
    expect(await slots.claim(job('image'), claim(0, true))).toBe(true);
    expect([slots.freeForTickets('default'), slots.freeForImages('default')]).toEqual([0, 0]);
    slots.claimed.remove('a');
    expect([slots.freeForTickets('default'), slots.freeForImages('default')]).toEqual([1, 1]);
  });

  it('that are reserved for images are not given up by a batch for a preferred video', () => {
    const slots = slotsOf(4, { imageSlots: 1 });
    for (const id of ['a', 'b', 'c']) slots.add(job(id), claim());
    slots.add(job('batch'), claim(0, true));
    slots.prefer(job('urgent'), claim(5));
    expect(slots.mustYield('default')).toBe(false);
    slots.claimed.remove('a');
    slots.add(job('another batch'), claim(0, true));
    expect(slots.mustYield('default')).toBe(true);
  });

  it('that are reserved for images hold no pod of a video or a chunk', () => {
    const slots = slotsOf(4, { imageSlots: 1 });
    slots.add(job('video'), claim());
    const chunks = { name: 'mj-video-1-c', jobId: 'video', key: '', weight: 1, parallelism: null, started: 0 };
    expect(slots.chunkPods.of({ ...chunks, pool: 'default', podsMax: 9 }, undefined, 0)).toBe(3);
    slots.running.beginCreation('mj-video-1-c', { jobId: 'video', pool: 'default', pods: 3 });
    expect(slots.hasCapacity({ pool: 'default', isImage: false }, 'mj-video-1')).toBe(false);
    expect(slots.hasCapacity({ pool: 'default', isImage: true }, 'mj-image-1')).toBe(true);
  });
});

describe('the slots that a pool keeps for images', () => {
  it.each([
    ['default', 4, undefined, 1],
    ['default', 3, undefined, 0],
    ['default', 0, undefined, 0],
    ['video-large', 40, undefined, 0],
    ['default', 8, 0, 0],
    ['default', 8, 3, 3],
    ['gpu', 2, 5, 1],
    ['gpu', 1, 1, 0],
  ])('the pool %s of %d slots with imageSlots %s reserves %d for images', (pool, concurrency, imageSlots, slots) => {
    expect(imageSlotsOf(pool, { concurrency, ...(imageSlots === undefined ? {} : { imageSlots }) })).toBe(slots);
  });
});

describe('a claim of a slot', () => {
  it('is refused for a suspended job, and in a pool without a free slot, without a request', async () => {
    const slots = slotsOf(1);
    expect(await slots.claim(job('a'), { ...claim(), isSuspended: true })).toBe(false);
    expect(await slots.claim(job('a'), { ...claim(), pool: 'absent' })).toBe(false);
    expect(slots.claimed.has('a')).toBe(false);
  });

  it('takes the slot before Postgres answers, and gives it back when the job was claimed elsewhere', async () => {
    const slots = slotsOf(1, { lost: ['lost'] });
    const lost = slots.claim(job('lost'), claim());
    expect([slots.claimed.has('lost'), slots.freeForTickets('default')]).toEqual([true, 0]);
    expect([await lost, slots.claimed.has('lost'), slots.freeForTickets('default')]).toEqual([false, false, 1]);
  });

  it('gives the slot back when Postgres does not answer', async () => {
    const slots = new PoolSlots({
      turns: oneKey,
      claimed: new ClaimedJobs(),
      concurrencyOf: () => 1,
      imageSlotsOf: () => 0,
      jobs: { claim: () => Promise.reject(new Error('away')) },
    });
    await expect(slots.claim(job('a'), claim())).rejects.toThrow('away');
    expect(slots.claimed.has('a')).toBe(false);
  });

  it('is of the attempt, for every leader and without an end; its Job was never created', async () => {
    const claims: unknown[] = [];
    const slots = new PoolSlots({
      turns: oneKey,
      claimed: new ClaimedJobs(),
      concurrencyOf: () => 1,
      imageSlotsOf: () => 0,
      jobs: { claim: (given) => Promise.resolve(claims.push(given) > 0 ? job('a') : null) },
    });
    const second = { ...job('a'), attempt: 2 };
    expect(await slots.claim(second, claim())).toBe(true);
    expect(claims).toEqual([{ jobId: 'a', attempt: 2, owner: 'kubernetes', leaseMs: Infinity }]);
    expect(slots.running.isNeverCreated(attemptJobName(second))).toBe(true);
  });
});

describe('jobs that go before the tickets of their pool', () => {
  it('wake admission when they come, and when they are no longer preferred', async () => {
    const slots = slotsOf(1);
    const isWoken = async (change: () => void) => {
      const stop = new AbortController();
      const woken = slots.claimed.nextChange(stop.signal).then(
        () => true,
        () => false,
      );
      change();
      stop.abort();
      return woken;
    };
    expect(await isWoken(() => slots.prefer(job('a'), claim(3)))).toBe(true);
    expect(await isWoken(() => slots.unprefer('a'))).toBe(true);
    expect(await isWoken(() => slots.unprefer('a'))).toBe(false);
  });
});

/** Slots of a pool in which jobs of these keys wait. */
function slotsBeside(...keys: string[]) {
  const waiting = keys.map((key) => ({ key, weight: 1, isBackground: false }) as QueuedKey);
  const rows = { lookAtPool: async () => ({ waiting, running: [], ended: [] }) };
  const turns = new PoolTurns({ jobs: rows, owner: 'kubernetes', now: () => 0 });
  const jobs = new Map<string, ReturnType<typeof exampleJob>>();
  const slots = new PoolSlots({
    turns,
    claimed: new ClaimedJobs(),
    concurrencyOf: () => 3,
    imageSlotsOf: () => 0,
    jobs: { claim: ({ jobId }) => Promise.resolve(jobs.get(jobId) ?? null) },
  });
  const prefer = (id: string, keyId: string, priority: number) => {
    jobs.set(id, exampleJob({ id, keyId }));
    slots.prefer(jobs.get(id) as never, claim(priority));
  };
  return { slots, turns, prefer };
}

describe('jobs of two keys that go before the tickets of their pool', () => {
  it('C36.5: are claimed in turns, of each key the highest priority first', async () => {
    const { slots, prefer } = slotsBeside('a', 'b');
    for (const [id, key, priority] of [
      ['a1', 'a', 1],
      ['a9', 'a', 9],
      ['b1', 'b', 1],
      ['a5', 'a', 5],
    ] as const)
      prefer(id, key, priority);
    expect(await slots.claimPreferred()).toEqual(['a9', 'b1', 'a5']);
  });

  it('C36.5: keep no slot while it is the turn of a key that has none', async () => {
    const { slots, turns, prefer } = slotsBeside('a', 'b');
    for (const id of ['a1', 'a2', 'a3', 'a4']) prefer(id, 'a', 1000);
    expect(slots.freeForTickets('default')).toBe(0);
    expect(await slots.claimPreferred()).toEqual(['a1']);
    expect(slots.freeForTickets('default')).toBe(2);
    // By its ticket.
    slots.add(exampleJob({ id: 'b1', keyId: 'b' }), claim());
    turns.claimed('default', exampleJob({ id: 'b1', keyId: 'b' }));
    turns.claimed('default', exampleJob({ id: 'b2', keyId: 'b' }));
    expect(await slots.claimPreferred()).toEqual(['a2']);
    expect(slots.freeForTickets('default')).toBe(0);
  });

  it('C36.2: a batch gives its slot up when it is the turn of a key without images', () => {
    const slots = slotsOf(2);
    for (const id of ['batch', 'other']) slots.add(job(id), claim(0, true));
    expect([slots.mustYield('default'), slots.mustYield('default', true)]).toEqual([false, true]);
    slots.claimed.remove('other');
    expect(slots.mustYield('default', true)).toBe(false);
  });
});

describe('whether a Job may run', () => {
  const video = { pool: 'default', isImage: false };

  it('it may while its pool has a slot that is not reserved, and when it runs already', () => {
    const slots = slotsOf(3, { imageSlots: 1 });
    const run = (name: string) => slots.running.beginCreation(name, { jobId: name, pool: 'default' });
    run('one');
    expect(slots.hasCapacity(video, 'next')).toBe(true);
    run('two');
    expect([slots.hasCapacity(video, 'next'), slots.hasCapacity(video, 'two')]).toEqual([false, true]);
    expect(slots.hasCapacity({ ...video, isImage: true }, 'next')).toBe(true);
    run('three');
    expect(slots.hasCapacity({ ...video, isImage: true }, 'next')).toBe(false);
  });

  it('it may not in a pool without slots, even if it runs', () => {
    const slots = slotsOf(0);
    slots.running.beginCreation('one', { jobId: 'one', pool: 'default' });
    expect([slots.hasCapacity(video, 'one'), slots.hasCapacity(video, 'next')]).toEqual([false, false]);
  });
});

describe('the work of a pass over many preferred jobs', () => {
  it('does not grow with them once the pool is full, nor with the claimed ones', async () => {
    const asked = { concurrency: 0, claims: 0 };
    const claimed = new ClaimedJobs();
    const listed = vi.spyOn(claimed, 'activeIn');
    const slots = new PoolSlots({
      turns: oneKey,
      claimed,
      concurrencyOf: () => {
        asked.concurrency += 1;
        return 1000;
      },
      imageSlotsOf: () => 0,
      jobs: {
        claim: ({ jobId }) => {
          asked.claims += 1;
          return Promise.resolve(job(jobId));
        },
      },
    });
    for (let n = 0; n < 1000; n++) slots.add(job(`claimed-${n}`), claim());
    for (let n = 0; n < 10_000; n++) slots.prefer(job(`preferred-${n}`), claim(1 + (n % 100)));
    expect(await slots.claimPreferred()).toEqual([]);
    expect(asked).toEqual({ concurrency: 1, claims: 0 });
    slots.claimed.remove('claimed-7');
    expect(await slots.claimPreferred()).toEqual(['preferred-99']);
    expect(asked.claims).toBe(1);
    expect(asked.concurrency).toBeLessThan(10);
    expect(slots.freeForTickets('default')).toBe(0);
    expect(slots.mustYield('default')).toBe(false);
    expect(listed).not.toHaveBeenCalled();
  });
});
