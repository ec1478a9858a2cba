import { expect, it } from 'vitest';
import { OneAtATime } from './one-at-a-time.ts';

it('work runs one at a time and in order, also after work that failed', async () => {
  const queue = new OneAtATime();
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
