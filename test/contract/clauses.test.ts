import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// The files of this folder quote the specification at the tests that show it. Where such a test stands in another file,
// the quote is followed by that file and the test's title. This holds those pointers to what is there.

const checkout = join(import.meta.dirname, '../..');
const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts')).toSorted();

/** `path, 'title'` or `path, 'title' and 'title'` in the comments of a file; titles may be none. */
function pointersOf(source: string): { path: string; titles: string[] }[] {
  const comments = source
    .split('\n')
    .map((line) => /^\s*\/\/ ?(.*)$/.exec(line)?.[1] ?? '\n')
    .join(' ');
  return [...comments.matchAll(/((?:[\w-]+\/)*[\w-]+\.test\.ts)((?:(?:,| and) '[^'\n]+')*)/g)].map(
    ([, path = '', titles = '']) => ({
      path,
      titles: [...titles.matchAll(/'([^']+)'/g)].map(([, title = '']) => title.replaceAll(/\s+/g, ' ')),
    }),
  );
}

async function read(path: string): Promise<string> {
  const whole = [join(checkout, path), join(import.meta.dirname, path)].find((one) => existsSync(one));
  return whole === undefined ? '' : (await readFile(whole, 'utf8')).replaceAll("\\'", "'");
}

it('there is a file for each of the nine sections of the specification', () => {
  const sections = new Set(
    files.map((name) => /^section-(\d)-/.exec(name)?.[1]).filter((number) => number !== undefined),
  );
  expect([...sections].toSorted()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9']);
});

it('reads pointers off comments, over the ends of lines', () => {
  const source =
    "// \"A clause.\": test/a-b/c.test.ts, 'a title\n  // goes on' and 'another'. Beside it: d.test.ts\ncode('x');";
  expect(pointersOf(source)).toEqual([
    { path: 'test/a-b/c.test.ts', titles: ['a title goes on', 'another'] },
    { path: 'd.test.ts', titles: [] },
  ]);
});

it.each(files)('%s points to tests that are there', async (name) => {
  const lost: string[] = [];
  for (const { path, titles } of pointersOf(await readFile(join(import.meta.dirname, name), 'utf8'))) {
    const target = await read(path);
    if (target === '') lost.push(path);
    else lost.push(...titles.filter((title) => !target.includes(title)).map((title) => `${path}, '${title}'`));
  }
  expect(lost).toEqual([]);
});
