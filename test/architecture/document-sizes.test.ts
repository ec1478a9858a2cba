import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// What a person can finish: a new page takes the place of words that are read no more.

const wordsMax = 42_000;
const decisionsMax = 45;

it(`the pages of docs have at most ${wordsMax} words together, and no more than ${decisionsMax} are decisions`, () => {
  const pages = globSync('docs/**/*.md');
  const decisions = pages.filter((path) => /^docs\/decisions\/\d/.test(path));
  expect(decisions.length).toBeGreaterThan(20);
  expect(decisions.length).toBeLessThanOrEqual(decisionsMax);
  // A mark alone, such as the border of a cell, is no word.
  const words = pages.flatMap((path) => readFileSync(path, 'utf8').match(/\S*[\p{L}\p{N}]\S*/gu) ?? []);
  expect(words.length).toBeGreaterThan(20_000);
  expect(words.length).toBeLessThanOrEqual(wordsMax);
});
