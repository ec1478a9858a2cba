import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  importErrorCodes,
  importErrors,
  ImportFailure,
  importStatuses,
  nameOfUrl,
  openImportStatuses,
  statusesBefore,
  transferMsMax,
  withoutQuery,
} from './import.ts';

describe('the states of an import', () => {
  it('are these, of which two are open', () => {
    expect(importStatuses).toEqual(['queued', 'running', 'completed', 'failed', 'cancelled']);
    expect(openImportStatuses).toEqual(['queued', 'running']);
  });

  it.each([
    ['queued', []],
    ['running', ['queued']],
    ['completed', ['running']],
    ['failed', ['running']],
    ['cancelled', ['queued', 'running']],
  ] as const)('%s is reached from %j alone', (to, from) => expect(statusesBefore(to)).toEqual(from));
});

describe('the errors of an import', () => {
  it.each(importErrorCodes)('%s says what was wrong, and what to do', (code) => {
    expect(importErrors[code]).toMatch(/^[A-Z][^;]{15,}; [a-z].{5,}\.$/);
    const failure = new ImportFailure(code, 404);
    expect(failure).toMatchObject({ code, httpStatus: 404, message: importErrors[code], name: 'ImportFailure' });
    expect(new ImportFailure(code).httpStatus).toBeNull();
  });
});

describe('the time that a transfer may take', () => {
  const mebibyte = 1024 * 1024;

  it.each([
    [0, 3_600_000],
    [1024, 3_600_001],
    [mebibyte, 3_601_000],
    [20 * 1024 * mebibyte, 3_600_000 + 20 * 1024 * 1000],
  ])('is, of %i bytes, %i ms: an hour, and a second for each MiB', (bytes, ms) => {
    expect(transferMsMax(bytes)).toBe(ms);
  });
});

describe('the address of an import', () => {
  it('is shown without its query, its fragment and a user', () => {
    expect(withoutQuery('https://user:password@a.example:8443/b/c.mp4?sig=1#x')).toBe('https://a.example:8443/b/c.mp4');
  });

  it.each([
    ['https://a.example/b/Clip%201.mp4?x=/y', 'Clip 1.mp4'],
    ['https://a.example/b/', 'file'],
    ['https://a.example', 'file'],
    ['https://a.example/a%00%0ab%E2%80%A8.mp4', 'a b .mp4'],
    ['https://a.example/%00%20%0a', 'file'],
    [`https://a.example/${'x'.repeat(254)}%F0%9F%98%80`, 'x'.repeat(254)],
    ['https://a.example/%zz', '%zz'],
    [`https://a.example/${'x'.repeat(300)}`, 'x'.repeat(255)],
    [`https://a.example/%zz${'x'.repeat(300)}`, `%zz${'x'.repeat(252)}`],
  ])('%s names the file %s', (url, name) => expect(nameOfUrl(url)).toBe(name));

  it('always names a file by 1 to 255 characters', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), (path) => {
        const { length } = nameOfUrl(`https://a.example/${path}`);
        expect(length >= 1 && length <= 255).toBe(true);
      }),
    );
  });
});
