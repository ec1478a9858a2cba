import { describe, expect, it } from 'vitest';
import { acceptsGzip, matchesEtag, readRange } from './request-headers.ts';

describe('readRange', () => {
  it.each([
    ['bytes=0-99', { start: 0, end: 99 }],
    ['bytes=10-', { start: 10, end: 99 }],
    ['bytes=90-500', { start: 90, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    [' Bytes=1-2 ', { start: 1, end: 2 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-4', null],
    ['bytes=-', null],
    ['bytes=0-1,5-6', null],
    ['items=0-1', null],
    ['bytes=1 - 2', null],
    ['bytes=0-99999999999999999999', { start: 0, end: 99 }],
    ['bytes=0000000000000000000000010-0000000000000000000000019', { start: 10, end: 19 }],
    ['bytes=99999999999999999999-', 'unsatisfiable'],
    [undefined, null],
  ])('the range %s of 100 bytes is %j', (header, range) => {
    expect(readRange(header, 100)).toEqual(range);
  });

  it('no range of an empty object can be met', () => {
    expect(readRange('bytes=0-', 0)).toBe('unsatisfiable');
    expect(readRange('bytes=-5', 0)).toBe('unsatisfiable');
  });

  it('a range may have as many digits as a header', () => {
    const [zeros, nines] = ['0'.repeat(8_000), '9'.repeat(8_000)];
    expect(readRange(`bytes=${zeros}1-${nines}`, 100)).toEqual({ start: 1, end: 99 });
  });
});

describe('matchesEtag', () => {
  it.each([
    ['"a"', '"a"', true],
    ['W/"a"', '"a"', true],
    ['"b", "a"', '"a"', true],
    ['*', '"a"', true],
    ['"b"', '"a"', false],
    ['a', '"a"', false],
    [undefined, '"a"', false],
  ])('If-None-Match %s matches the ETag %s: %s', (header, etag, isMatch) => {
    expect(matchesEtag(header, etag)).toBe(isMatch);
  });
});

describe('acceptsGzip', () => {
  it.each([
    ['gzip', true],
    ['br, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['*', true],
    ['gzip;q=0, *', false],
    ['identity', false],
    ['', false],
    [undefined, false],
  ])('Accept-Encoding %s accepts gzip: %s', (header, isTaken) => {
    expect(acceptsGzip(header)).toBe(isTaken);
  });
});
