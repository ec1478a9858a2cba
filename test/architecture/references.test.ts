import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorOf, proseOf, References } from './references.ts';
import { readTexts } from './texts.ts';

const texts = [
  { path: 'docs/a.md', text: '# Title\n\n## `POST /api/jobs`, and more\n' },
  { path: 'docs/decisions/0001-first.md', text: '# 0001: First\n' },
  { path: 'domain/jobs/status.ts', text: '' },
];
const references = new References(texts);
const deadIn = (path: string, text: string) =>
  references.deadIn({ path, text }).map((dead) => dead.slice(path.length + 2));

describe('references', () => {
  it.each([
    ['a page that is there', 'See docs/a.md and [it](docs/a.md).', []],
    ['a page that is not there', 'See decisions.md.', ['decisions.md']],
    ['a link to a missing page', '[x](docs/b.md)', ['docs/b.md']],
    ['a link by the name of its page', '[a.md](docs/a.md)', []],
    ['a link by the name of another page', '[b.md](docs/a.md)', ['b.md']],
    ['a link to a heading', '[x](docs/a.md#post-apijobs-and-more)', []],
    ['a link to a missing heading', '[x](docs/a.md#nothing)', ['docs/a.md#nothing']],
    ['a URL', 'https://example.com/b.md and [x](https://example.com/b.md)', []],
    ['a file by the end of its path', 'See `jobs/status.ts`.', []],
    ['a file that is not there', 'See `jobs/missing.ts`.', ['jobs/missing.ts']],
    ['a decision that is there', 'docs/decisions/0001 says why', []],
    ['a decision that is not there', 'docs/decisions/0002 says why', ['decisions/0002']],
    ['a section of a standard', 'RFC 9110, section 13.1 allows it', []],
    ['a section of the contract', 'Section 4 of docs/a.md', ['Section 4']],
    ['a section of no page', 'see section 4', ['see section 4']],
    ['a page of no repository', 'see the design.md', ['design.md']],
    ['an issue', 'Issue 4 asks for it', ['Issue 4']],
    ['a path out of the repository', 'see ../shared/x', ['../shared']],
    ['a code block', '```\nsee missing.md\n```', []],
  ])('%s', (_, text, dead) => {
    expect(deadIn('README.md', text)).toEqual(dead);
  });

  it('references of a source file are looked for in its comments alone, also across line ends', () => {
    expect(deadIn('a.ts', "import x from './missing.ts';\n// see\n// section 4 of it\n")).toEqual(['see section 4']);
  });
});

it.each([
  ['Set up', 'set-up'],
  ['`POST /api/jobs`, and more', 'post-apijobs-and-more'],
  ['4. Endpoints', '4-endpoints'],
])('the anchor of "%s" is %s, as GitHub makes it', (heading, anchor) => {
  expect(anchorOf(heading)).toBe(anchor);
});

it('the prose of a shell script is its comments', () => {
  expect(proseOf({ path: 'scripts/x', text: '#!/bin/sh\n# one\nx=1 # two\n' })).toBe('# one\n# two');
});

describe('the repository', () => {
  const own = readTexts(join(import.meta.dirname, '../..'));
  const images = globSync('docs/**/*.{png,webp}', { cwd: join(import.meta.dirname, '../..') });
  const all = new References(own, images);

  it('the repository refers only to pages, headings, files, decisions and sections that are there', () => {
    // The examples above are not references.
    const others = own.filter(({ path }) => path !== 'test/architecture/references.test.ts');
    expect(others.flatMap((file) => all.deadIn(file))).toEqual([]);
  });

  it('a guide of more than 300 lines links to each of its sections before the first one, in their order', () => {
    const long = own.filter(({ path, text }) => path.startsWith('docs/guides/') && text.split('\n').length > 300);
    expect(long.map(({ path }) => path)).toContain('docs/guides/api.md');
    for (const { path, text } of long) {
      const sections = [...text.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => `#${anchorOf(heading)}`);
      const contents = [...text.slice(0, text.indexOf('\n## ')).matchAll(/\]\((#.*?)\)/g)].map(([, link]) => link);
      expect([path, contents]).toEqual([path, sections]);
    }
  });
});
