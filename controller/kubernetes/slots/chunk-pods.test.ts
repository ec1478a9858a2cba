import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChunkJob, ChunkPods } from './chunk-pods.ts';
import { ClaimedJobs } from './claimed-jobs.ts';
import { RunningJobs } from './running-jobs.ts';

interface InTurn extends Partial<ChunkJob> {
  readonly first?: string;
  readonly nowMs?: number;
}

/** A pool with jobs that are claimed, and its videos' Jobs with their pods. */
function poolOf(concurrency: number, videos: Readonly<Record<string, number>>, others: readonly string[] = []) {
  const claimed = new ClaimedJobs();
  const running = new RunningJobs();
  const pool = 'default';
  const claim = (id: string) => claimed.set(id, { pool, isSuspended: false, priority: 0, isImage: false });
  for (const [name, pods] of Object.entries(videos)) {
    claim(name);
    if (pods > 0) running.show(name, { jobId: name, pool, mayRun: true, pods });
  }
  for (const id of others) claim(id);
  const chunkPods = new ChunkPods({ claimed, running, concurrencyOf: () => concurrency });
  const defaults = { pool, key: '', weight: 1, parallelism: 1, started: 1 };
  const podsOf = (name: string, podsMax: number, nowMs = 0) =>
    chunkPods.of({ ...defaults, name, jobId: name, podsMax }, undefined, nowMs);
  /** The pods of a video of `key` while `first` is the key whose turn it is. */
  const inTurn = (name: string, { first, nowMs = 0, ...more }: InTurn) =>
    chunkPods.of({ ...defaults, name, jobId: name, podsMax: 9, started: 0, ...more }, first, nowMs);
  return { claim, claimed, running, chunkPods, podsOf, inTurn };
}

describe('the pods of a video', () => {
  it('the pods of a video take all slots that no claimed job has, when its Job is created', () => {
    expect(poolOf(8, { video: 0 }).podsOf('video', 100)).toBe(8);
    expect(poolOf(8, { video: 0 }, ['a', 'b']).podsOf('video', 100)).toBe(6);
    expect(poolOf(8, { video: 0 }).podsOf('video', 3)).toBe(3);
    expect(poolOf(1, { video: 0 }, ['a']).podsOf('video', 100)).toBe(1);
  });

  it('the pods of a video become fewer at once when another job is claimed', () => {
    const { claim, podsOf } = poolOf(4, { video: 4 });
    expect(podsOf('video', 100)).toBe(4);
    for (const id of ['a', 'b', 'c', 'd']) claim(id);
    expect(podsOf('video', 100)).toBe(1);
  });

  it('the pods of a video become more only once slots have been free for five seconds', () => {
    const { podsOf } = poolOf(4, { video: 1 });
    expect(podsOf('video', 100, 1_000)).toBe(1);
    expect(podsOf('video', 100, 5_000)).toBe(1);
    expect(podsOf('video', 100, 6_000)).toBe(4);
  });

  it('the pods of a video share the slots with other videos, and never exceed the free ones', () => {
    const { podsOf, running } = poolOf(8, { one: 7, other: 1 });
    expect(podsOf('other', 100)).toBe(1);
    expect(podsOf('one', 100)).toBe(4);
    running.show('one', { jobId: 'one', pool: 'default', mayRun: true, pods: 4 });
    expect(podsOf('other', 100, 0)).toBe(1);
    expect(podsOf('other', 100, 5_000)).toBe(4);
  });

  it('leave to another video what one cannot use', () => {
    const { podsOf } = poolOf(8, { short: 2, long: 0 });
    expect(podsOf('short', 2)).toBe(2);
    expect(podsOf('long', 100)).toBe(6);
  });
});

describe('the slots that videos share', () => {
  it('are all used, by no more pods than there are slots, and by none that cannot use one', () => {
    const pods = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(fc.array(pods, { minLength: 1, maxLength: 5 }), fc.nat(12), (podsMax, more) => {
        const names = podsMax.map((_, n) => `v${n}`);
        const concurrency = names.length + more;
        const { podsOf, running } = poolOf(concurrency, Object.fromEntries(names.map((name) => [name, 1])));
        const most = (name: string) => podsMax[names.indexOf(name)] as number;
        // Each is looked at as often as it takes: the free slots of one moment may be few.
        for (let nowMs = 0; nowMs <= 100_000; nowMs += 5_000)
          for (const name of names) {
            const given = podsOf(name, most(name), nowMs);
            expect(given >= 1 && given <= most(name)).toBe(true);
            running.show(name, { jobId: name, pool: 'default', mayRun: true, pods: given });
          }
        const wanted = podsMax.reduce((sum, each) => sum + each, 0);
        expect(running.count('default')).toBe(Math.min(concurrency, wanted));
      }),
      { numRuns: 50 },
    );
  });

  it.each([[['b', 'a']], [['a', 'b']]])('are shared evenly by %j, the first by name having the odd one', (names) => {
    const { podsOf } = poolOf(7, { b: 4, a: 3 });
    for (const name of names) podsOf(name, 100);
    expect([podsOf('a', 100), podsOf('b', 100)]).toEqual([3, 3]);
  });

  it('are given back at once by a video that can use fewer, although others are free', () => {
    expect(poolOf(8, { video: 4 }).podsOf('video', 2)).toBe(2);
  });

  it('have to be free for five seconds from when a video can use them', () => {
    const { podsOf } = poolOf(4, { video: 1 });
    expect(podsOf('video', 1, 0)).toBe(1);
    expect(podsOf('video', 100, 5_000)).toBe(1);
    expect(podsOf('video', 100, 10_000)).toBe(4);
  });

  it('do not include slots of jobs that were claimed and have no pod yet', () => {
    const { podsOf, running } = poolOf(6, { video: 1 }, ['starting']);
    // Of a job that is suspended, and no longer claimed.
    running.show('ending', { jobId: 'ending', pool: 'default', mayRun: true, pods: 2 });
    expect(podsOf('video', 100, 0)).toBe(1);
    expect(podsOf('video', 100, 5_000)).toBe(3);
  });
});

const showPods = (running: RunningJobs, name: string, pods: number) =>
  running.show(name, { jobId: name, pool: 'default', mayRun: true, pods });

describe('C36.11: the last slot of a video', () => {
  it('is left when its chunk has ended, the pool is full and it is the turn of another key', () => {
    const { chunkPods, inTurn } = poolOf(2, { a: 1, other: 1 });
    expect(inTurn('a', { key: 'A', first: 'B', started: 1 }), 'a chunk runs').toBe(1);
    expect(inTurn('a', { key: 'A', first: 'A' }), 'its own turn').toBe(1);
    expect(inTurn('a', { key: 'A' }), 'nobody waits').toBe(1);
    expect(chunkPods.countWaiting('default')).toBe(0);
    expect(inTurn('a', { key: 'A', first: 'B' })).toBe(0);
    expect([chunkPods.countWaiting('default'), chunkPods.isOwed('default', 'A')]).toEqual([1, true]);
    expect(inTurn('other', { key: 'A', first: 'B' }), 'one slot is free already').toBe(1);
  });

  it('is kept where the pool has a free slot for the other key', () => {
    expect(poolOf(2, { a: 1 }).inTurn('a', { key: 'A', first: 'B' })).toBe(1);
  });

  it('is kept by a new Job until its first chunk has begun', () => {
    const { inTurn } = poolOf(1, { a: 1 });
    expect(inTurn('a', { key: 'A', parallelism: null })).toBe(1);
    expect(inTurn('a', { key: 'A', first: 'B' })).toBe(1);
    expect(inTurn('a', { key: 'A', first: 'B', started: 1 })).toBe(1);
    expect(inTurn('a', { key: 'A', first: 'B' })).toBe(0);
  });

  it('is left by a new Job that was scaled to no pods before its first chunk began', () => {
    const { running, chunkPods, inTurn } = poolOf(1, { a: 1 });
    expect(inTurn('a', { key: 'A', parallelism: null })).toBe(1);
    showPods(running, 'a', 0);
    inTurn('a', { key: 'A', first: 'B', parallelism: 0 });
    expect(chunkPods.isOwed('default', 'A')).toBe(true);
  });

  it('is kept by a Job that Kueue has admitted', () => {
    expect(poolOf(1, { a: 1 }).inTurn('a', { key: 'A', first: 'B', keepsSlot: true })).toBe(1);
  });

  it('is kept after all by a video whose next chunk began before', () => {
    const { chunkPods, inTurn } = poolOf(1, { a: 1 });
    expect(inTurn('a', { key: 'A', first: 'B' })).toBe(0);
    expect(inTurn('a', { key: 'A', first: 'B', started: 1 })).toBe(1);
    expect(chunkPods.countWaiting('default')).toBe(0);
  });

  it('is given to it again in the turn of its key, and counts as taken from then on', () => {
    const { claim, claimed, running, chunkPods, inTurn } = poolOf(1, { a: 1 });
    inTurn('a', { key: 'A', first: 'B' });
    claim('b');
    showPods(running, 'a', 0);
    showPods(running, 'b', 1);
    expect(inTurn('a', { key: 'A', first: 'A', parallelism: 0 }), 'the other job runs').toBe(0);
    expect(chunkPods.resume('default', 'A')).toBeUndefined();
    claimed.remove('b');
    running.end('b');
    expect(chunkPods.resume('default', 'B'), 'another key').toBeUndefined();
    expect(chunkPods.resume('default', 'A')).toBe('a');
    expect([chunkPods.countWaiting('default'), chunkPods.isGiven('a')]).toEqual([0, true]);
    expect(chunkPods.resume('default', 'A'), 'once').toBeUndefined();
    expect(inTurn('a', { key: 'A', first: 'B', parallelism: 0 })).toBe(1);
    showPods(running, 'a', 1);
    expect(inTurn('a', { key: 'A', first: 'A' })).toBe(1);
    expect(chunkPods.isGiven('a')).toBe(false);
    expect(inTurn('a', { key: 'A', first: 'B' }), 'its pod has not started').toBe(1);
    expect(inTurn('a', { key: 'A', first: 'B', started: 1 })).toBe(1);
    expect(inTurn('a', { key: 'A', first: 'B' }), 'that chunk has ended').toBe(0);
  });

  it('is taken again once it has been free for five seconds, whoever should have it', () => {
    const { running, inTurn } = poolOf(1, { a: 1 });
    inTurn('a', { key: 'A', first: 'B' });
    showPods(running, 'a', 0);
    expect(inTurn('a', { key: 'A', first: 'B', parallelism: 0, nowMs: 1_000 })).toBe(0);
    expect(inTurn('a', { key: 'A', first: 'B', parallelism: 0, nowMs: 5_900 })).toBe(0);
    expect(inTurn('a', { key: 'A', first: 'B', parallelism: 0, nowMs: 6_000 })).toBe(1);
  });

  it('is known as left to the next leader by a Job without pods', () => {
    const { running, chunkPods, inTurn } = poolOf(1, { a: 0 }, ['b']);
    showPods(running, 'a', 0);
    showPods(running, 'b', 1);
    expect(inTurn('a', { key: 'A', first: 'A', parallelism: 0 })).toBe(0);
    expect(chunkPods.countWaiting('default')).toBe(1);
  });

  it('does not count as free once its job is suspended or no longer claimed', () => {
    const { claimed, chunkPods, inTurn } = poolOf(1, { a: 1 });
    inTurn('a', { key: 'A', first: 'B' });
    claimed.set('a', { pool: 'default', isSuspended: true, priority: 0, isImage: false });
    expect(chunkPods.countWaiting('default')).toBe(0);
    claimed.remove('a');
    expect(chunkPods.countWaiting('default')).toBe(0);
  });

  it('is left to a claimed job that has no slot, of whichever key', () => {
    const { inTurn } = poolOf(1, { a: 1 }, ['resumed']);
    expect(inTurn('a', { key: 'A' })).toBe(0);
  });
});

describe('C36.11: the spare slots of a pool', () => {
  it('are shared by key, however many videos a key has', () => {
    const { inTurn } = poolOf(8, { a1: 1, a2: 1, a3: 1, b: 1 });
    const all = () => [
      ...['a1', 'a2', 'a3'].map((name) => inTurn(name, { key: 'A', started: 1, nowMs: 9_000 })),
      inTurn('b', { key: 'B', started: 1, nowMs: 9_000 }),
    ];
    all();
    for (const name of ['a1', 'a2', 'a3']) inTurn(name, { key: 'A', started: 1, nowMs: 9_000 });
    // Each may have what is free, and no more than its share.
    expect(inTurn('b', { key: 'B', started: 1, nowMs: 20_000 })).toBe(4);
  });
});

describe('C36.11: videos of several keys on a few slots', () => {
  it('each get their chunks encoded, in turns, without a slot left idle', () => {
    const keys = ['A', 'B', 'C'];
    const chunks = fc.integer({ min: 2, max: 6 });
    fc.assert(
      fc.property(
        fc.array(chunks, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 3 }),
        (lengths, slots) => {
          const { claimed, running, chunkPods, inTurn } = poolOf(slots, {});
          const videos = lengths.map((left, n) => ({ name: `v${n}`, key: keys[n % 3] ?? '', left, taken: 0 }));
          const took = (key: string) => videos.reduce((sum, each) => sum + (each.key === key ? each.taken : 0), 0);
          const isClaimed = ({ name }: { name: string }) => claimed.has(name);
          const wants = (one: (typeof videos)[number]) =>
            one.left > 0 && (!isClaimed(one) || chunkPods.isWaiting(one.name));
          const first = () =>
            videos.filter(wants).toSorted((a, b) => took(a.key) - took(b.key) || (a.name < b.name ? -1 : 1))[0];
          /** Gives free slots as admission and the leader do. */
          const fill = () => {
            for (let next = first(); next !== undefined; next = first()) {
              if (claimed.count('default') - chunkPods.countWaiting('default') >= slots) return;
              if (isClaimed(next)) chunkPods.resume('default', next.key);
              else claimed.set(next.name, { pool: 'default', isSuspended: false, priority: 0, isImage: false });
              scaledTo(next.name, 1);
            }
          };
          const scaledTo = (name: string, pods: number) =>
            running.show(name, { jobId: name, pool: 'default', mayRun: true, pods });
          for (let round = 0; videos.some(({ left }) => left > 0); round++) {
            expect(round).toBeLessThan(200);
            fill();
            const atWork = videos.filter((one) => one.left > 0 && isClaimed(one) && !chunkPods.isWaiting(one.name));
            expect(atWork.length).toBe(Math.min(slots, videos.filter(({ left }) => left > 0).length));
            // Each encodes a chunk, and asks at its end what follows.
            for (const one of atWork) {
              one.left -= 1;
              one.taken += 1;
              if (one.left === 0) {
                claimed.remove(one.name);
                running.end(one.name);
              } else {
                const parallelism = running.podsOf(one.name) ?? 1;
                const next = first();
                const more = { key: one.key, podsMax: 1, parallelism, nowMs: round };
                scaledTo(one.name, inTurn(one.name, next === undefined ? more : { ...more, first: next.key }));
              }
            }
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
