import { expect, it } from 'vitest';
import type { Context } from '../command.ts';
import { Options } from '../command.ts';
import { openOutput } from '../output.ts';
import { showEnd } from './show.ts';

it('Ctrl-C in a wait says that the job goes on, and how to come back to it', async () => {
  let written = '';
  const stderr = { write: (text: string) => (written += text) };
  const stdout = { isTTY: true, write: () => undefined };
  const stopping = new AbortController();
  const waitFor = async () => {
    stopping.abort(new Error('interrupted'));
    throw stopping.signal.reason as Error;
  };
  const context = {
    options: new Options({}),
    output: openOutput({ isJson: false, env: {}, stdout, stderr }),
    signal: stopping.signal,
    client: async () => ({ waitFor }),
  } as unknown as Context;
  await expect(showEnd(context, '7d8a0c6e-3c9a-4f3a-9f0e-2f6d1c1f5b11')).rejects.toThrow('interrupted');
  expect(written).toBe('Detached; the job goes on: reelwright watch 7d8a0c6e, or reelwright cancel 7d8a0c6e\n');
});
