import { expect, it } from 'vitest';
import { isDatabaseAway } from './database-away.ts';

const withCode = (code: string) => Object.assign(new Error('a failure'), { code });

it.each([
  ['a refused connection', withCode('ECONNREFUSED'), true],
  ['a name server that knows no host of the database', withCode('ENOTFOUND'), true],
  ['a name server that does not answer', withCode('EAI_AGAIN'), true],
  ['a connection that breaks', new Error('Connection terminated unexpectedly'), true],
  ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), true],
  ['a query that is not answered', new Error('Query read timeout'), true],
  ['a server that shuts down', withCode('57P01'), true],
  ['a statement that took too long', withCode('57014'), true],
  ['too many connections', withCode('53300'), true],
  ['a standby', withCode('25006'), true],
  ['a table that is missing', withCode('42P01'), false],
  ['a full disk of this machine', withCode('ENOSPC'), false],
  ['a key that opens no envelope', new Error('no ENCRYPTION_KEY opens the content key'), false],
  ['what is no error', 'Connection terminated', false],
])('%s: the database is away: %s', (_what, error, isAway) => {
  expect(isDatabaseAway(error)).toBe(isAway);
});
