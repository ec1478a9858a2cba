import { expect, it } from 'vitest';
import { durationOf, durationsSec } from '../durations.ts';
import { filesOfSlice, parseSlice, sliceOfCommit } from './slices.ts';

const listed = [...durationsSec.keys()];
const slicesOf = (files: readonly string[], of: number) =>
  Array.from({ length: of }, (_, index) => filesOfSlice(files, { part: index + 1, of }));

it('each file is in exactly one slice, and the slices take about the same time', () => {
  const slices = slicesOf(listed, 6);
  expect(slices.flat().toSorted()).toEqual(listed.toSorted());
  const seconds = slices.map((files) => files.reduce((sum, file) => sum + durationOf(file), 0));
  const longest = Math.max(...listed.map(durationOf));
  expect(Math.max(...seconds) - Math.min(...seconds)).toBeLessThanOrEqual(longest);
});

it('a new file moves no other file to another slice', () => {
  const before = slicesOf(listed, 6);
  const after = slicesOf([...listed, 'test/integration/new.deep.test.ts'], 6);
  expect(after.map((files) => files.filter((file) => listed.includes(file)))).toEqual(before);
  expect(after.flat()).toHaveLength(listed.length + 1);
});

it('a slice is written as part and number of parts', () => {
  expect(parseSlice('2/6')).toEqual({ part: 2, of: 6 });
  for (const text of ['7/6', '0/6', '2', '2/6/1', '']) expect(() => parseSlice(text)).toThrow(/SLICE is/);
});

it('commits choose each slice about as often', () => {
  const hashes = Array.from({ length: 600 }, (_, index) => (index * 2_654_435_761).toString(16).padStart(8, '0'));
  const counts = [1, 2, 3].map((part) => hashes.filter((hash) => sliceOfCommit(hash, 3).part === part).length);
  for (const count of counts) expect(count).toBeGreaterThan(100);
});
