import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jobErrorCodes } from '#domain/errors.ts';
import { jobPhases } from '#domain/jobs/status.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { idsIn, promisesIn, titledIn, undeclaredChanges } from './contract.ts';
import { readTexts } from './texts.ts';

// docs/reference/contract.md numbers every promise. Each number begins the title of a test, a number that is named
// anywhere exists, and from the first release on a number keeps its meaning.

const path = 'docs/reference/contract.md';
const root = join(import.meta.dirname, '../..');
const texts = readTexts(root);
const page = texts.find((text) => text.path === path)?.text ?? '';
const promises = promisesIn(page);
const proven = new Set(texts.filter((text) => text.path.endsWith('.test.ts')).flatMap(({ text }) => titledIn(text)));

it(`${path} has sections from 10 on without a gap, and the numbers of each count from 1 without a gap`, () => {
  const headings = page.match(/^## \d+\. /gm) ?? [];
  const sections = headings.map((_, index) => index + 10);
  expect(sections.length).toBeGreaterThanOrEqual(19);
  expect([...new Set(promises.map(({ section }) => section))]).toEqual(sections);
  for (const section of sections) {
    const numbers = promises.filter((promise) => promise.section === section).map(({ number }) => number);
    expect([section, numbers]).toEqual([section, numbers.map((_, index) => index + 1)]);
    const heading = page.indexOf(`\n## ${section}. `);
    expect(heading).toBeGreaterThan(0);
    expect(page.indexOf(`**C${section}.1**`)).toBeGreaterThan(heading);
  }
});

it.each(promises)('$id begins the title of a test that expects something: $promise', ({ id }) => {
  expect(proven).toContain(id);
});

it(`every number that is named anywhere is a line of ${path}`, () => {
  const known = new Set(promises.map(({ id }) => id));
  // The examples below are no lines of the page.
  const others = texts.filter((text) => text.path !== 'test/architecture/contract-page.test.ts');
  const unknown = others.flatMap((text) => idsIn(text.text).filter((id) => !known.has(id)));
  expect(unknown).toEqual([]);
});

describe('titledIn', () => {
  it.each([
    ["it('C17.3: one range is answered 206', () => {\n  expect(status).toBe(206);\n});", ['C17.3']],
    ['test("C17.3, C18.1: both", () => expect(status).toBe(206));', ['C17.3', 'C18.1']],
    ["it.each([\n  ['C17.3: a row', 206],\n])('%s', (_, status) => {\n  expect(status).toBe(206);\n});", ['C17.3']],
    ["it('C17.3: nothing is expected', () => {});\nit('more', () => expect(1).toBe(1));", []],
    ["// it('C17.3: a comment', () => {});", []],
    ["it('a range (C17.3)', () => {});", []],
    ["expect(ids).toContain('C17.3');", []],
  ])('the lines that the test %s proves are %j', (code, ids) => {
    expect(titledIn(code)).toEqual(ids);
  });
});

describe('the meaning of numbers since a release', () => {
  const released = '- **C10.1** It plays.\n- **C10.2** It stops.\n';

  it.each([
    ['a page with a further line', `${released}- **C10.3** It pauses.\n`, []],
    ['other words', released.replace('stops', 'stops at once'), ['C10.2']],
    ['other words that are listed', `${released.replace('stops', 'ends')}\n## Changed\n\n- C10.2: the word\n`, []],
    ['a line that was taken out', '- **C10.1** It plays.\n', ['C10.2']],
    [
      'a line that was taken out, though listed',
      '- **C10.1** It plays.\n\n## Changed\n\n- C10.2: removed\n',
      ['C10.2'],
    ],
    ['numbers that were exchanged', '- **C10.1** It stops.\n- **C10.2** It plays.\n', ['C10.1', 'C10.2']],
  ])('%s', (_, now, changed) => {
    expect(undeclaredChanges(released, now)).toEqual(changed);
  });

  it(`${path} gives every number the meaning that it had in the last release`, () => {
    expect(undeclaredChanges(releasedPage() ?? '', page)).toEqual([]);
  });
});

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' });

/** The page as the last tag has it; null before the first release. */
function releasedPage(): string | null {
  let tag: string;
  try {
    tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*').trim();
  } catch {
    return null;
  }
  return git('show', `${tag}:${path}`);
}

it.each([
  ['C12.4: the page lists the phases', ['phase', ...jobPhases]],
  ['C12.6: the page lists the codes of reasons', waitingReasonSchema.shape.code.options],
  ['C13.6: the page lists the codes of job errors', jobErrorCodes],
])('%s', (title, known) => {
  const line = promises.find(({ id }) => title.startsWith(`${id}: `))?.promise ?? '';
  const named = [...line.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code);
  expect(new Set(named)).toEqual(new Set(known));
});
