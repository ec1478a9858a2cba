import { expect, it } from 'vitest';
import { statementPatterns } from './sql-statements.ts';

it('the statements of a source file are found with what is filled in, and nothing else', () => {
  const source = [
    `// select nothing from comments`,
    'const where = (id: string) => `id = ${id}`;',
    "const find = `\n  select ${columns.join(', ')} from jobs\n  where ${where(`any(${'$1'})`)} limit ${max + 1}`;",
    `const end = 'update jobs set status = $2';`,
    `throw new Error('selected nothing');`,
  ].join('\n');
  const [find, end, ...others] = statementPatterns(source);
  expect(others).toEqual([]);
  expect('select a, b from jobs where id = any($1) limit 5').toMatch(find as RegExp);
  expect('select a, b from webhook_events where true').not.toMatch(find as RegExp);
  expect('update jobs set status = $2 where id = $1').toMatch(end as RegExp);
  expect('update jobs set phase = $2').not.toMatch(end as RegExp);
});
