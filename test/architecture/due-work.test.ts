import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSources, withoutComments } from '../../testing/imports.ts';

// What happens later or again is a kind of due work: a row of platform/postgres/due-kinds.ts, claimed by one statement.

it('rows that are due are claimed in one place', () => {
  const files = readSources(join(import.meta.dirname, '../..')).filter(
    ({ path }) => /^(api|controller|delivery|jobs|platform)\//.test(path) && !path.endsWith('.test.ts'),
  );
  const claiming = files.filter(({ text }) => /skip\s+locked/i.test(withoutComments(text)));
  expect(claiming.map(({ path }) => path)).toEqual(['platform/postgres/due-work.ts']);
});
