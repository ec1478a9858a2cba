import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkPods } from './chunk-pods.ts';
import { ClaimedJobs } from './claimed-jobs.ts';
import { RunningJobs } from './running-jobs.ts';

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
  const podsOf = (name: string, podsMax: number, nowMs = 0) => chunkPods.of({ name, pool, podsMax }, nowMs);
  return { claim, claimed, running, chunkPods, podsOf };
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
