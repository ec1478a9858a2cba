import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// The index of docs/decisions lists every page with its title, and each has a number of its own.

const folder = 'docs/decisions';
const names = readdirSync(folder)
  .filter((name) => name !== 'README.md')
  .toSorted();
const index = readFileSync(`${folder}/README.md`, 'utf8');

it('the index of decisions lists every page once, in order, with its title', () => {
  const listed = [...index.matchAll(/^- \[(\d{4}): (.+)\]\((.+)\)$/gm)].map(([, number, title, file]) => ({
    heading: `# ${number}: ${title}`,
    file,
  }));
  const pages = names.map((name) => ({
    heading: readFileSync(`${folder}/${name}`, 'utf8').split('\n')[0],
    file: name,
  }));
  expect(listed).toEqual(pages);
});

it('no two decisions have the same number', () => {
  const numbers = names.map((name) => name.slice(0, 4));
  expect(new Set(numbers).size).toBe(numbers.length);
});
