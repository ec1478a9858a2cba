import { expect, it } from 'vitest';
import { ImportTurns } from './import-turns.ts';

const dueOf = (key: string, rows: number, weight = 1) => ({ key, rows, weight, isBackground: false });

it('C36.9: free slots for imports are shared by keys and weights, and by what runs', () => {
  let nowMs = 0;
  const turns = new ImportTurns(() => nowMs);
  const due = [dueOf('a', 100), dueOf('b', 100, 2)];
  expect(Object.fromEntries(turns.shares(due, 6))).toEqual({ a: 2, b: 4 });
  for (let n = 0; n < 4; n++) turns.begun(`a${n}`, 'a', due);
  nowMs = 10_000;
  expect(Object.fromEntries(turns.shares(due, 2))).toEqual({ b: 2 });
  for (let n = 0; n < 4; n++) turns.ended(`a${n}`);
  expect(Object.fromEntries(turns.shares(due, 2)), 'what it took is not forgotten').toEqual({ b: 2 });
});

it('C36.9: imports of one key get every slot, and no more than there are imports', () => {
  const turns = new ImportTurns(() => 0);
  expect(Object.fromEntries(turns.shares([dueOf('a', 100)], 6))).toEqual({ a: 6 });
  expect(Object.fromEntries(turns.shares([dueOf('a', 2), dueOf('b', 1)], 6))).toEqual({ a: 2, b: 1 });
  expect(turns.shares([], 6).size).toBe(0);
});
