import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jobErrorCodes } from '#domain/errors.ts';
import { readTexts } from './texts.ts';

// docs/contract.md numbers every promise. Each number is named by a test, and a number that is named anywhere exists.

const texts = readTexts(join(import.meta.dirname, '../..'));
const page = texts.find(({ path }) => path === 'docs/contract.md')?.text ?? '';
const promises = [...page.matchAll(/^- \*\*(C(\d)\.(\d+))\*\* (.+)$/gm)].map(
  ([, id = '', section = '', number = '', promise = '']) => ({
    id,
    section: Number(section),
    number: Number(number),
    promise,
  }),
);

/** The contract ids in a text. */
function idsIn(text: string): string[] {
  return [...new Set(text.match(/\bC\d\.\d+\b/g))];
}

/** The files that name each id, by id. */
function namedBy(isCounted: (path: string) => boolean): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const { path, text } of texts)
    if (isCounted(path)) for (const id of idsIn(text)) files.set(id, [...(files.get(id) ?? []), path]);
  return files;
}

const namedByTests = namedBy((path) => path.endsWith('.test.ts'));

it('docs/contract.md has nine sections, and the numbers of each count from 1 without a gap', () => {
  expect([...new Set(promises.map(({ section }) => section))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const section of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    const numbers = promises.filter((promise) => promise.section === section).map(({ number }) => number);
    expect([section, numbers]).toEqual([section, numbers.map((_, index) => index + 1)]);
    const heading = page.indexOf(`\n## ${section}. `);
    expect(heading).toBeGreaterThan(0);
    expect(page.indexOf(`**C${section}.1**`)).toBeGreaterThan(heading);
  }
});

it.each(promises)('$id is named by a test: $promise', ({ id }) => {
  expect(namedByTests.get(id) ?? []).not.toEqual([]);
});

it('every contract id that is named anywhere is a line of docs/contract.md', () => {
  const known = new Set(promises.map(({ id }) => id));
  const unknown = [...namedBy(() => true)].filter(([id]) => !known.has(id));
  expect(unknown).toEqual([]);
});

it('C2.24: the codes of job errors on the page are those of the code', () => {
  const line = promises.find(({ id }) => id === 'C2.24')?.promise ?? '';
  const codes = [...line.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code);
  expect(codes).toEqual(jobErrorCodes);
});
