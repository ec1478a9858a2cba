import { expect, it } from 'vitest';
import { untilAborted } from './until-aborted.ts';

const endless = new Promise<never>(() => undefined);

it('what the work resolves with, or its failure, comes through', async () => {
  const { signal } = new AbortController();
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(untilAborted(Promise.reject(new Error('a')), signal)).rejects.toThrow('a');
});

it('the reason of a signal ends the wait, also of one that has aborted', async () => {
  const stop = new AbortController();
  const waiting = untilAborted(endless, stop.signal);
  stop.abort(new Error('b'));
  await expect(waiting).rejects.toThrow('b');
  await expect(untilAborted(endless, stop.signal)).rejects.toThrow('b');
});
