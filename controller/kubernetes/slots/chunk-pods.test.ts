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
  return { claim, running, podsOf };
}

describe('the pods of a video', () => {
  it('the pods of a video take all slots that no claimed job has, when its Job is created', () => {
    expect(poolOf(8, { video: 0 }).podsOf('video', 100)).toBe(8);
    expect(poolOf(8, { video: 0 }, ['a', 'b']).podsOf('video', 100)).toBe(6);
    expect(poolOf(8, { video: 0 }).podsOf('video', 3)).toBe(3);
    expect(poolOf(1, { video: 0 }, ['a']).podsOf('video', 100)).toBe(1);
  });

  it('the pods of a video do not exist in a pool of concurrency 0', () => {
    expect(poolOf(0, { video: 4 }).podsOf('video', 100)).toBe(0);
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
