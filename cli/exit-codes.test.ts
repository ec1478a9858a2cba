import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { jobErrorCodes, requestErrors } from '#domain/errors.ts';
import { advice } from '../clients/typescript/src/errors.ts';
import { type Job, JobEndedError, ReelwrightError } from '../clients/typescript/src/index.ts';
import { exitCodeOf, exitCodes, exitOfCode, UsageError } from './exit-codes.ts';

const jobCodes: readonly string[] = jobErrorCodes;

it('every code of a request and of the client has an exit code of its own choice', () => {
  const ofClient = Object.keys(advice).filter((code) => !jobCodes.includes(code));
  expect(Object.keys(exitOfCode).toSorted()).toEqual(
    [...new Set([...Object.keys(requestErrors), ...ofClient])].toSorted(),
  );
});

it('the table of exit codes in docs/guides/cli.md is the one of the program', () => {
  const rows = Object.entries(exitCodes).map(([exit, [code, meaning]]) => {
    const codes = Object.keys(exitOfCode).filter((each) => exitOfCode[each] === exit);
    return `| ${code} | ${meaning} | ${codes.map((each) => `\`${each}\``).join(', ')} |`;
  });
  const table = ['| exit code | meaning | codes |', '| --- | --- | --- |', ...rows, ''].join('\n');
  expect(readFileSync(new URL('../docs/guides/cli.md', import.meta.url), 'utf8')).toContain(table);
});

const ended = (code: string) =>
  new JobEndedError({ job_id: '1', status: 'failed', error: { code, message: 'm' } } as unknown as Job);

it.each([
  ['wrong arguments', new UsageError('--type: expected …'), 2],
  ['a service that is away', new ReelwrightError({ code: 'unreachable', detail: 'd' }), 3],
  ['a refused key', new ReelwrightError({ code: 'unauthorized', status: 401, detail: 'd' }), 4],
  ['a code that is newer than the program', new ReelwrightError({ code: 'new_code', status: 400, detail: 'd' }), 1],
  ['a job that has failed', ended('source_not_found'), 10],
  ['a job that was cancelled', ended('cancelled'), 11],
  ['a bug', new TypeError('x is not a function'), 1],
])('the exit code of %s is its own', (_, error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});
