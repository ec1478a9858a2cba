import { expect, it } from 'vitest';
import { WriteTurns } from './write-turns.ts';

const mebibyte = 1024 * 1024;

/** The turns of the event loop in which writes of `bytes` each ran, in order; a turn has 4 MiB. */
async function turnsOf(count: number, bytes: number): Promise<number[]> {
  const writes = new WriteTurns({ turnBytes: 4 * mebibyte });
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
        turns.push(turn);
        if (n === count - 1) resolve();
        return bytes;
      });
  });
  return turns;
}

it('writes that fill a turn of the event loop leave the others to later turns', async () => {
  const turns = await turnsOf(5, 4 * mebibyte);
  expect(new Set(turns).size).toBe(5);
  expect(turns).toEqual(turns.toSorted((a, b) => a - b));
});

it('as many bytes as a turn may write are written in it', async () => {
  expect(await turnsOf(4, 2 * mebibyte)).toEqual([0, 0, 1, 1]);
});

it('writes of a few bytes are put off by their number', async () => {
  const turns = await turnsOf(100, 1);
  expect(turns.filter((turn) => turn === 0)).toHaveLength(64);
  expect(turns.at(-1)).toBe(1);
});

it('what has just been read passes those that wait, up to its own bound', () => {
  const writes = new WriteTurns({ turnBytes: mebibyte, freshBytes: 2 * mebibyte });
  const written: string[] = [];
  const write = (name: string) => () => written.push(name) && mebibyte;
  for (const name of ['first', 'waits']) writes.run(write(name));
  for (const name of ['fresh', 'fresh too', 'one too many']) writes.runFresh(write(name));
  expect(written).toEqual(['first', 'fresh', 'fresh too']);
});
