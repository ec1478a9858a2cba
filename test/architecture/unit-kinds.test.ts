import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSources, withoutComments } from '../../testing/imports.ts';

// A whole job, `split`, a chunk and `finish` are kinds of one thing. What differs between them is a column of a table
// in domain/work; elsewhere a line that asks for the kind is an exception, and there may be few.

const linesMax = 10;

const kinds = ['whole', 'split', 'encode', 'chunk', 'finish', 'image'].join('|');
const questions = [
  new RegExp(String.raw`\b(?:part|unit|task|next|kind)\b[\w?.]* [!=]== '(?:${kinds})'`),
  new RegExp(String.raw`\bcase '(?:${kinds})':`),
  /\b(?:part|unit)\b(?:\.kind)? [!=]== null/,
  /\bswitch \(.*\b(?:part|unit)\b/,
];
const isExempt = (path: string) =>
  /\.test\.ts$|^(?:test|testing|bench|demo|web|platform|delivery|domain\/work)\//.test(path) ||
  path === 'runner/handlers/index.ts';

it('at most ten lines outside domain/work and the table of handlers ask which kind of unit they have', () => {
  const sources = readSources(join(import.meta.dirname, '../..')).filter(({ path }) => !isExempt(path));
  const asking = sources.flatMap(({ path, text }) =>
    withoutComments(text)
      .split('\n')
      .filter((line) => questions.some((question) => question.test(line)))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(asking.length, asking.join('\n')).toBeLessThanOrEqual(linesMax);
});
