import { join } from 'node:path';
import { expect, it } from 'vitest';
import { importsOf, readSources } from '../../testing/imports.ts';

// What delivery/data-plane/README.md says.

const files = readSources(join(import.meta.dirname, '../..')).filter(({ path }) => !path.endsWith('.test.ts'));

it('the rest of delivery imports of the data plane its interface alone', () => {
  const outside = files.filter(({ path }) => path.startsWith('delivery/') && !path.startsWith('delivery/data-plane/'));
  const named = outside.flatMap(({ text }) => importsOf(text)).filter((name) => name.includes('data-plane/'));
  expect(new Set(named.map((name) => name.replace(/^.*data-plane\//, '')))).toEqual(new Set(['data-plane.ts']));
});
