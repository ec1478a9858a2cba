import { expect, test } from 'vitest';
import { withTimeout } from './with-timeout.ts';

test('a value or a failure that comes before the timeout is passed on', async () => {
  expect(await withTimeout(Promise.resolve(42), 1_000, 'no answer')).toBe(42);
  await expect(withTimeout(Promise.reject(new Error('broken')), 1_000, 'no answer')).rejects.toThrow('broken');
});

test('a timeout rejects with its message, and a later failure is no unhandled rejection', async () => {
  const late = Promise.withResolvers<never>();
  await expect(withTimeout(late.promise, 10, 'no answer')).rejects.toThrow('no answer within 10 ms');
  late.reject(new Error('too late'));
});
