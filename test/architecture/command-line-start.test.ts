import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packagesAtStart } from '../../testing/import-graph.ts';
import { readSources, staticImportsOf } from '../../testing/imports.ts';

// What only some commands need is imported when they run: every command waits for what is imported before.

describe('the start of the command line', () => {
  it('loads no package but the HTTP client and the schemas', () => {
    const packages = packagesAtStart(readSources(join(import.meta.dirname, '../..')), 'cli/main.ts');
    const dear = [...packages].filter(([name]) => !['openapi-fetch', 'zod'].includes(name));
    expect(dear.map(([name, file]) => `${name}, imported by ${file}: import it when the command runs`)).toEqual([]);
    expect(packages.has('zod')).toBe(true);
  });

  it.each([
    ["import a from 'a';\nimport { type B, c } from './b.ts';", ['a', './b.ts']],
    ["export * from './d.ts';\nimport 'e';", ['./d.ts', 'e']],
    ["import type { F } from 'f';\nexport type { G } from 'g';", []],
    ["const h = await import('h');\ntype I = import('i').I;", []],
  ])('is read off static imports: %j', (text, expected) => {
    expect(staticImportsOf(text)).toEqual(expected);
  });
});
