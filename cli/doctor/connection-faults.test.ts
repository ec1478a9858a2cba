import { expect, it } from 'vitest';
import { clockFindings } from './clocks.ts';
import { connectionFault, plainAddress } from './connection-faults.ts';

const withCode = (code: string, more: object = {}) => Object.assign(new Error('failed'), { code }, more);

it.each([
  ['a code of the system', withCode('ECONNREFUSED'), 'nothing listens there'],
  ['a cause', new Error('outer', { cause: new Error('inner', { cause: withCode('ENOTFOUND') }) }), 'unknown to DNS'],
  ['errors of every address', new AggregateError([withCode('EHOSTUNREACH')]), 'does not answer'],
  ['a timeout that has no code', new Error('timeout expired'), 'does not answer'],
  ['an expired certificate', withCode('CERT_HAS_EXPIRED'), 'TLS certificate has expired'],
  ['a certificate of another host', withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'for another host'],
  ['an answer in HTTP to Redis', new Error('Unknown RESP type 72 "H". Please report this.'), 'another program'],
  ['an answer in HTTP to PostgreSQL', new Error('received invalid response: 48'), 'another program'],
  ['an unknown authority', withCode('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'), 'of an unknown authority'],
])('%s is explained', (_, error, what) => {
  expect(connectionFault(error, 'X_URL')?.fault).toContain(`X_URL: `);
  expect(connectionFault(error, 'X_URL')?.fault).toContain(what);
});

it('an error of another kind is not explained', () => {
  expect(connectionFault(new TypeError('x is not a function'), 'X_URL')).toBeNull();
  expect(connectionFault('text', 'X_URL')).toBeNull();
});

it('an address is shown without user, password and query, and a text that is no URL not at all', () => {
  expect(plainAddress('postgres://user:secret@db:5432/media?password=secret')).toBe('postgres://db:5432/media');
  expect(plainAddress('postgres://user:secret@[')).not.toContain('secret');
});

it.each([
  ['no difference', 1_000, []],
  ['less than five seconds', 5_900, []],
  ['ahead', 11_000, ['10 s ahead of']],
  ['behind', -9_000, ['10 s behind']],
])('a clock with %s', (_, otherMs, expected) => {
  const findings = clockFindings('the database', otherMs, { before: 1_000, after: 1_000 });
  expect(findings.map(({ fault }) => / \d+ s (?:ahead of|behind)/.exec(fault)?.[0].trim())).toEqual(expected);
});

it('what the question took, and the step of the other clock, are no difference', () => {
  expect(clockFindings('it', 60_000, { before: 0, after: 60_000 })).toEqual([]);
  expect(clockFindings('it', 0, { before: 5_900, after: 6_000 }, 1_000)).toEqual([]);
});
