import { describe, expect, it } from 'vitest';
import type { StepContext } from './step-context.ts';
import { together } from './together.ts';

function contextOf(signal: AbortSignal): StepContext {
  return { signal } as StepContext;
}

/** Ends when it is stopped. */
const untilStopped = ({ signal }: StepContext) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => setImmediate(() => reject(new Error('stopped'))));
  });

describe('two parts of a step', () => {
  const context = contextOf(new AbortController().signal);

  it('two parts run at once and both results are returned', async () => {
    const gate = Promise.withResolvers<string>();
    const results = together(
      context,
      () => gate.promise,
      () => {
        gate.resolve('opened by the second');
        return Promise.resolve(2);
      },
    );
    expect(await results).toEqual(['opened by the second', 2]);
  });

  it('a part that fails stops the other, and its error is thrown after both have ended', async () => {
    const failure = new Error('the first failed');
    let hasEnded = false;
    const fails = () => Promise.reject(failure);
    const slow = (part: StepContext) => untilStopped(part).finally(() => (hasEnded = true));
    await expect(together(context, fails, slow)).rejects.toBe(failure);
    expect(hasEnded).toBe(true);
    await expect(together(context, slow, fails)).rejects.toBe(failure);
  });

  it('both parts stop with the step', async () => {
    const stopping = new AbortController();
    const both = together(contextOf(stopping.signal), untilStopped, untilStopped);
    stopping.abort();
    await expect(both).rejects.toThrow('stopped');
  });
});
