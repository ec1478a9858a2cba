import { describe, expect, it } from 'vitest';
import { unitsAnnotation, pendingChunksOf, chunksProgress } from './units.ts';
import { indexesOf } from './job.ts';

describe('the units of a Job', () => {
  it.each([
    ['', []],
    ['0', [0]],
    ['0-2,5', [0, 1, 2, 5]],
    ['3,7-8', [3, 7, 8]],
  ])('the snapshot of a Job reads the indexes %j as Kubernetes writes them', (list, indexes) => {
    expect(indexesOf(list)).toEqual(indexes);
  });

  it('the units of a Job count the chunks that were finished before it, and weigh each by its frames', () => {
    const pending = { v: 1 as const, rev: 'r', chunk_frames: [100, 100, 200], chunks: [1, 2] };
    expect(chunksProgress(pending)).toEqual({ done: 1, wanted: 3, fraction: 0.25 });
    expect(chunksProgress(pending, '1')).toEqual({ done: 2, wanted: 3, fraction: 0.75 });
    expect(chunksProgress(pending, '0-1')).toEqual({ done: 3, wanted: 3, fraction: 1 });
  });

  it('a Job without the annotation has no units, and one that is not valid is an error', () => {
    expect(pendingChunksOf({})).toBeNull();
    expect(() => pendingChunksOf({ [unitsAnnotation]: '{"rev":1}' })).toThrow('Invalid input');
  });
});
