import { expect, it } from 'vitest';
import { ImageQueue } from './image-queue.ts';

const entries = (client: string, count: number) => Array.from({ length: count }, (_, n) => ({ client, n }));

it('clients take turns, each in its own order', () => {
  const queue = new ImageQueue<{ client: string; n: number }>();
  for (const entry of [...entries('a', 4), ...entries('b', 1), ...entries('c', 2)]) queue.push(entry);
  queue.pushFirst({ client: 'c', n: -1 });
  const taken: string[] = [];
  for (let next = queue.take(); next !== null; next = queue.take()) taken.push(`${next.client}${next.n}`);
  expect(taken).toEqual(['a0', 'b0', 'c-1', 'a1', 'c0', 'a2', 'c1', 'a3']);
});

it('a client waits for its own entries and as many of each other client', () => {
  const queue = new ImageQueue<{ client: string; n: number }>();
  for (const entry of [...entries('a', 100), ...entries('b', 1)]) queue.push(entry);
  expect(queue.aheadOf('a')).toBe(101);
  expect(queue.aheadOf('b')).toBe(3);
  expect(queue.aheadOf('c')).toBe(2);
});
