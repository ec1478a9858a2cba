import { describe, expect, it } from 'vitest';
import { FewAtOnce } from './few-at-once.ts';

describe('few at once', () => {
  it('runs as many as it may, and the next in order when one ends, also with a failure', async () => {
    const few = new FewAtOnce(2);
    const begun: number[] = [];
    const works = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
    const runs = works.map(({ promise }, n) =>
      few.run(() => {
        begun.push(n);
        return promise;
      }),
    );
    const results = Promise.allSettled(runs);
    expect(begun).toEqual([0, 1]);
    works[1]?.reject(new Error('failed'));
    await expect(runs[1]).rejects.toThrow('failed');
    expect(begun).toEqual([0, 1, 2]);
    for (const n of [0, 2, 3]) works[n]?.resolve(n);
    expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(await few.run(() => Promise.resolve('later'))).toBe('later');
  });
});
