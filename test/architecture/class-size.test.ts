import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTexts, type TextFile } from './texts.ts';

const linesMax = 150;

/** The classes of a file that have more lines than that; prettier puts the brace that ends one at the start of a line. */
function largeClasses({ path, text }: TextFile): string[] {
  const classes = text.matchAll(/^(?:export )?(?:abstract )?class (\w+)[\s\S]*?^\}/gm);
  return [...classes]
    .map(([whole, name]) => ({ name, lines: whole.split('\n').length }))
    .filter(({ lines }) => lines > linesMax)
    .map(({ name, lines }) => `${path}: ${name} has ${lines} lines`);
}

it('a class of 151 lines is found, and one of 150 is not', () => {
  const [small, large] = [150, 151].map((lines) => `class A {\n${'  x;\n'.repeat(lines - 2)}}\n`);
  expect(largeClasses({ path: 'a.ts', text: `${small}${large}` })).toEqual(['a.ts: A has 151 lines']);
});

it(`no class has more than ${linesMax} lines`, () => {
  const sources = readTexts(join(import.meta.dirname, '../..')).filter(({ path }) => path.endsWith('.ts'));
  expect(sources.flatMap(largeClasses)).toEqual([]);
});
