import { join } from 'node:path';
import { expect, it } from 'vitest';
import { wideLines } from './lines.ts';
import { readTexts } from './texts.ts';

/** Code, and what is written like it; a generator breaks no lines. */
const isCode = (path: string) =>
  path !== 'clients/typescript/src/schema.ts' &&
  /\.(?:ts|js|css|sh|toml)$|(?:^|\/)(?:Makefile|\.ci\/\w+|scripts\/\w+)$/.test(path);

it('no line of code is wider than 120 columns, quoted text aside', () => {
  const texts = readTexts(join(import.meta.dirname, '../..')).filter(({ path }) => isCode(path));
  expect(texts.length).toBeGreaterThan(500);
  const wide = texts.flatMap(({ path, text }) => wideLines(text).map((line) => `${path}:${line}`));
  expect(wide).toEqual([]);
});

it.each([
  ['a comment', `// ${'word '.repeat(24)}`, ['1: 123 columns']],
  ['code', `const a = ${'b + '.repeat(30)}c;`, ['1: 132 columns']],
  ['a title', `it('${'word '.repeat(24)}', () => {`, []],
  ['a comment with quotes', `// "${'word '.repeat(24)}"`, ['1: 125 columns']],
])('the width of %s', (_, line, expected) => {
  expect(wideLines(line)).toEqual(expected);
});
