import { expect, it } from 'vitest';
import { FairQueue } from './fair-queue.ts';

const entries = (client: string, count: number) => Array.from({ length: count }, (_, n) => ({ client, n }));

it('clients take turns, each in its own order', () => {
  const queue = new FairQueue<{ client: string; n: number }>();
  for (const entry of [...entries('a', 4), ...entries('b', 1), ...entries('c', 2)]) queue.push(entry);
  queue.pushFirst({ client: 'c', n: -1 });
  const taken: string[] = [];
  for (let next = queue.take(); next !== null; next = queue.take()) taken.push(`${next.client}${next.n}`);
  expect(taken).toEqual(['a0', 'b0', 'c-1', 'a1', 'c0', 'a2', 'c1', 'a3']);
});

it('a client whose entry may not be taken keeps its turn', () => {
  const queue = new FairQueue<{ client: string; n: number }>();
  for (const entry of [...entries('a', 2), ...entries('b', 2)]) queue.push(entry);
  expect(queue.take(({ client }) => client !== 'a')).toEqual({ client: 'b', n: 0 });
  expect(queue.take(() => false)).toBeNull();
  expect([queue.take(), queue.take(), queue.take()].map((entry) => entry?.client)).toEqual(['a', 'b', 'a']);
});

it('a client waits for its own entries and as many of each other client', () => {
  const queue = new FairQueue<{ client: string; n: number }>();
  for (const entry of [...entries('a', 100), ...entries('b', 1)]) queue.push(entry);
  const one = { atOnce: 1, ofClient: 1 };
  expect(queue.roundsBefore('a', one)).toBe(101);
  expect(queue.roundsBefore('b', one)).toBe(3);
  expect(queue.roundsBefore('c', one)).toBe(2);
  expect(queue.roundsBefore('a', { atOnce: 4, ofClient: 4 })).toBe(101 / 4);
  expect(queue.roundsBefore('a', { atOnce: 4, ofClient: 2 })).toBe(50);
});

it('all entries can be taken at once, and none is left', () => {
  const queue = new FairQueue<{ client: string; n: number }>();
  for (const entry of [...entries('a', 2), ...entries('b', 1)]) queue.push(entry);
  expect(queue.drain()).toEqual([...entries('a', 2), ...entries('b', 1)]);
  expect([queue.drain(), queue.take(), queue.roundsBefore('a', { atOnce: 1, ofClient: 1 })]).toEqual([[], null, 0]);
});

it('a client without entries has no turn', () => {
  const queue = new FairQueue<{ client: string; n: number }>();
  queue.push({ client: 'a', n: 0 });
  queue.take();
  for (const entry of [...entries('b', 1), ...entries('a', 1)]) queue.push(entry);
  expect([queue.take(), queue.take()].map((entry) => entry?.client)).toEqual(['b', 'a']);
});
