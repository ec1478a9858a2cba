import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkout } from '../checkout.ts';
import { strykerPlugins } from './ignored.ts';
import { compare, type Mutant, readSurvivors, scoreLines, scoreOf } from './report.ts';

const mutant = (status: string, code = 'a < b', file = 'domain/x/y.ts'): Mutant => ({
  file,
  line: 3,
  kind: 'EqualityOperator',
  code,
  replacement: 'a <= b',
  status,
});

const reason = (code: string, file = 'domain/x/y.ts') => ({ file, code, replacement: 'a <= b', reason: 'equal' });

it('the score is the share of mutants that a test found, without those that do not load or are not made', () => {
  const mutants = ['Killed', 'Killed', 'Timeout', 'NoCoverage', 'RuntimeError', 'Ignored'].map((each) => mutant(each));
  expect(scoreOf(mutants)).toBe(75);
  expect(scoreOf([])).toBe(100);
  expect(scoreLines(mutants)).toEqual([
    'domain/x                         75.0 %  3 found, 1 survived, 1 not loadable',
    'all                              75.0 %  3 found, 1 survived, 1 not loadable',
  ]);
});

it('a survivor without a reason is named, and so is a reason whose mutant is found now', () => {
  const mutants = [mutant('Survived', 'listed'), mutant('Survived', 'unlisted'), mutant('Killed', 'found')];
  const listed = [reason('listed'), reason('found'), reason('not mutated in this run', 'domain/other.ts')];
  expect(compare(mutants, listed)).toEqual({ unlisted: [mutants[1]], outdated: [reason('found')] });
});

it('each survivor in the list is code that its file has', () => {
  const lost = readSurvivors(checkout).filter(
    ({ file, code }) => !readFileSync(join(checkout, file), 'utf8').includes(code),
  );
  expect(lost).toEqual([]);
});

const callOf = (name: string) => ({
  type: 'CallExpression',
  callee: { type: 'MemberExpression', property: { name } },
});

it('descriptions of fields are not mutated, and the schemas that they are of are', () => {
  const [plugin] = strykerPlugins;
  const text = { type: 'StringLiteral' };
  const ignored = (name: string, node: object = text) =>
    plugin?.value.shouldIgnore({ node: node as typeof text, parentPath: { node: callOf(name), parentPath: null } });
  expect(ignored('describe')).toBe('a description');
  expect(ignored('regex')).toBeUndefined();
  const call = callOf('describe');
  const parentPath = { node: call, parentPath: null };
  expect(plugin?.value.shouldIgnore({ node: call.callee, parentPath })).toBeUndefined();
});
