import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RequestTurns } from './request-turns.ts';

it('begins four requests in a turn of the event loop, of clients in turn, and at once while none waits', async () => {
  const turns = new RequestTurns();
  const begun: string[] = [];
  for (let n = 0; n < 8; n++) turns.run('many', () => begun.push(`many ${n}`));
  turns.run('one', () => begun.push('one'));
  expect(begun).toEqual(['many 0', 'many 1', 'many 2', 'many 3']);
  await turn();
  expect(begun.slice(4)).toEqual(['many 4', 'one', 'many 5', 'many 6']);
  await turn();
  expect(begun.slice(8)).toEqual(['many 7']);
  await turn();
  turns.run('many', () => begun.push('later'));
  expect(begun.at(-1)).toBe('later');
});
