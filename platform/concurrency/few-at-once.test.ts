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

  it('runs one at a time and in order, also after work that failed', async () => {
    const queue = new FewAtOnce(1);
    const seen: string[] = [];
    const work = (name: string) => async () => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      if (name === 'b') throw new Error(name);
      seen.push(`${name} ends`);
      return name;
    };
    const running = ['a', 'b', 'c'].map((name) => queue.run(work(name)));
    expect([queue.isFull(2), queue.isFull(3)]).toEqual([true, false]);
    expect((await Promise.allSettled(running)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'c begins', 'c ends']);
    expect(queue.isFull(0)).toBe(false);
  });
});
