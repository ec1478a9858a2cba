import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// Every page of docs/decisions has the same shape, and the index lists each with its title and status.

const folder = 'docs/decisions';
const names = readdirSync(folder)
  .filter((name) => name !== 'README.md')
  .toSorted();
const index = readFileSync(`${folder}/README.md`, 'utf8');

it.each(names)('the decision %s has a number, title, date, status, context, decision and consequences', (name) => {
  const page = readFileSync(`${folder}/${name}`, 'utf8');
  const [, number = '', title = ''] = /^# (\d{4}): (.+)\n/.exec(page) ?? [];
  expect(name).toMatch(new RegExp(`^${number}-[a-z0-9-]+\\.md$`));
  expect(title).not.toBe('');
  expect(page).toMatch(/^- Date: \d{4}-\d{2}-\d{2}\n- Status: (?:accepted|superseded by \[\d{4}\]\(.+\))$/m);
  const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect([headings[0], headings[1], headings.at(-1)]).toEqual(['Context', 'Decision', 'Consequences']);
});

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
