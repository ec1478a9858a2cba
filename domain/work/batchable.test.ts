import { describe, expect, it } from 'vitest';
import { batchTypes, isBatchable } from './batchable.ts';

const job = { type: 'image:thumbnail', attempt: 1, queue: 'default', pool: null, priority: 0 } as const;

describe('whether a batch may take a job', () => {
  it('a batch may take the first attempt of an image job, whether all of it is known or only its ticket', () => {
    expect(batchTypes).toEqual(['image:thumbnail']);
    expect(isBatchable(job)).toBe(true);
    expect(isBatchable({ attempt: 1, queue: 'default' })).toBe(true);
  });

  it.each([
    { type: 'video:cover' },
    { attempt: 2 },
    { queue: 'video:large' },
    { pool: 'gpu' },
    { priority: 5 },
  ] as const)('a batch takes no job with %o', (other) => {
    expect(isBatchable({ ...job, ...other })).toBe(false);
  });
});
