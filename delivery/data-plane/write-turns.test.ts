import { expect, it } from 'vitest';
import { WriteTurns } from './write-turns.ts';

/** Writes that take `ms` of processor time each; the turns of the event loop in which they ran, in order. */
async function turnsOf(count: number, ms: number): Promise<number[]> {
  const writes = new WriteTurns(4);
  let turn = 0;
  const turns: number[] = [];
  const countTurns = () => {
    turn += 1;
    if (turns.length < count) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  await new Promise<void>((resolve) => {
    for (let n = 0; n < count; n++)
      writes.run(() => {
        for (const endMs = performance.now() + ms; performance.now() < endMs;);
        turns.push(turn);
        if (n === count - 1) resolve();
      });
  });
  return turns;
}

it('writes that fill a turn of the event loop leave the others to later turns', async () => {
  const turns = await turnsOf(5, 5);
  expect(new Set(turns).size).toBe(5);
  expect(turns).toEqual(turns.toSorted((a, b) => a - b));
});

it('writes that take no time are not put off', async () => {
  expect(new Set(await turnsOf(20, 0)).size).toBeLessThan(5);
});
