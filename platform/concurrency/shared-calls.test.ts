import { expect, it } from 'vitest';
import { SharedCalls } from './shared-calls.ts';

const fail = () => Promise.reject(new Error('connection lost'));
const refuse = () => {
  throw new Error('busy');
};

it('calls for one key at once are one, and a later one is another', async () => {
  const calls = new SharedCalls<number>();
  let count = 0;
  const next = async () => (count += 1);
  expect(await Promise.all([calls.run('a', next), calls.run('a', next), calls.run('b', next)])).toEqual([1, 1, 2]);
  expect(calls.get('a')).toBeUndefined();
  expect(await calls.run('a', next)).toBe(3);
});

it('a call that fails rejects for each that joined it, and the next one begins again', async () => {
  const calls = new SharedCalls<number>();
  const joined = [calls.run('a', fail), calls.run('a', async () => 1)];
  for (const { status } of await Promise.allSettled(joined)) expect(status).toBe('rejected');
  expect(await calls.run('a', async () => 2)).toBe(2);
});

it('a call that throws before it begins occupies no key', async () => {
  const calls = new SharedCalls<number>();
  expect(() => calls.run('a', refuse)).toThrow('busy');
  expect(await calls.run('a', async () => 1)).toBe(1);
});
