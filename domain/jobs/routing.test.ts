import { expect, it } from 'vitest';
import { queueOfSize } from './routing.ts';

it.each([
  [0, 'default'],
  [99, 'default'],
  [100, 'video:large'],
  [101, 'video:large'],
])('a source of %i bytes with a threshold of 100 goes to %s', (sizeBytes, queue) =>
  expect(queueOfSize(sizeBytes, 100)).toBe(queue),
);
