import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cyclesOf, folderGraphs, importGraph } from '../../testing/import-graph.ts';
import { readSources } from '../../testing/imports.ts';

// No cycle of imports, types included: neither between files, nor between what lies in one folder, where a folder
// counts as one thing. A reader can then take any folder by itself, from the bottom up.

const isTest = (path: string) => path.endsWith('.test.ts');
const sources = readSources(join(import.meta.dirname, '../..')).filter(({ path }) => !isTest(path));
const graphs = folderGraphs(importGraph(sources));

it('files and folders of one folder do not import each other in a cycle, types included', () => {
  const cycles = [...graphs].flatMap(([folder, graph]) =>
    cyclesOf(graph).map((members) => `${folder}: ${members.join(' ')}`),
  );
  expect(cycles).toEqual([]);
});

it('imports are found between files and folders of most folders', () => {
  expect(graphs.size).toBeGreaterThan(50);
});

describe('finding cycles', () => {
  it.each([
    ['two files', { 'a/b.ts': './c.ts', 'a/c.ts': './b.ts' }, ['a: b.ts c.ts']],
    ['three files', { 'a/b.ts': './c.ts', 'a/c.ts': './d.ts', 'a/d.ts': '#a/b.ts' }, ['a: b.ts c.ts d.ts']],
    ['two folders', { 'a/b/x.ts': '../c/y.ts', 'a/c/y.ts': 'zod', 'a/c/z.ts': '../b/x.ts' }, ['a: b c']],
    ['a file and a folder', { 'a/b.ts': './c/x.ts', 'a/c/x.ts': 'zod', 'a/c/y.ts': '../b.ts' }, ['a: b.ts c']],
    ['a chain', { 'a/b.ts': './c.ts', 'a/c.ts': './d.ts', 'a/d.ts': 'zod' }, []],
  ])('a cycle is looked for between %s', (_, files, cycles) => {
    expect(cyclesIn(files)).toEqual(cycles);
  });
});

/** The cycles of files that have one import each. */
function cyclesIn(files: Record<string, string>): string[] {
  const texts = Object.entries(files).map(([path, target]) => ({
    path,
    text: `import type { A } from '${target}';`,
  }));
  return [...folderGraphs(importGraph(texts))].flatMap(([folder, graph]) =>
    cyclesOf(graph).map((members) => `${folder}: ${members.join(' ')}`),
  );
}
