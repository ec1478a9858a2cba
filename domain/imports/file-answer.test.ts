import { describe, expect, it } from 'vitest';
import { ImportInterruption, readFileAnswer } from './file-answer.ts';

const date = 'Tue, 24 Nov 2026 08:00:01 GMT';
const before = 'Tue, 24 Nov 2026 08:00:00 GMT';

describe('the answer of a server that a file is fetched from', () => {
  it.each([
    [200, { 'content-length': '10', 'content-type': 'Video/MP4; x=1', etag: '"a"' }, 0, [0, 10, 'video/mp4', '"a"']],
    [200, {}, 0, [0, null, null, null]],
    [200, { 'content-length': '0' }, 0, [0, 0, null, null]],
    [200, { 'content-length': '1'.repeat(16) }, 0, [0, null, null, null]],
    [200, { 'content-length': '-1' }, 0, [0, null, null, null]],
    [200, { 'content-length': ['1', '2'] }, 0, [0, null, null, null]],
    [200, { 'content-type': 'video/mp4 x' }, 0, [0, null, null, null]],
    [
      200,
      { 'content-type': `${'x'.repeat(60)}/${'y'.repeat(60)}` },
      0,
      [0, null, `${'x'.repeat(60)}/${'y'.repeat(60)}`, null],
    ],
    [200, { 'content-type': `${'x'.repeat(61)}/y` }, 0, [0, null, null, null]],
    [200, { etag: '""' }, 0, [0, null, null, null]],
    [200, { etag: `"${'x'.repeat(501)}"` }, 0, [0, null, null, null]],
    [200, { etag: '"a b"' }, 0, [0, null, null, null]],
    [200, { 'last-modified': `${before}${' '.repeat(40)}`, date }, 0, [0, null, null, null]],
    [206, { 'content-range': `bytes 5-${'9'.repeat(14)}/1${'0'.repeat(14)}` }, 5, [5, 1e14, null, null]],
    // The file has changed, or the server knows no ranges: it sends the whole again.
    [200, { 'content-length': '10', etag: '"b"' }, 5, [0, 10, null, '"b"']],
    [206, { 'content-range': 'bytes 5-9/10', etag: '"a"' }, 5, [5, 10, null, '"a"']],
    [206, { 'content-range': 'bytes 1234567-1999999/2000000' }, 1_234_567, [1_234_567, 2_000_000, null, null]],
    [200, { etag: 'W/"a"', 'last-modified': before, date }, 0, [0, null, null, null]],
    [200, { 'last-modified': before, date }, 0, [0, null, null, before]],
    [200, { 'last-modified': date, date }, 0, [0, null, null, null]],
    [200, { 'last-modified': before }, 0, [0, null, null, null]],
  ])('%i with %j to a request from byte %i on is understood', (status, headers, offset, read) => {
    const { sizeBytes, contentType, validator, ...sent } = readFileAnswer(status, headers, offset);
    expect([sent.offset, sizeBytes, contentType, validator]).toEqual(read);
  });

  it.each([
    [404, {}, 0, 'not_found'],
    [403, {}, 0, 'access_denied'],
    [204, {}, 0, 'bad_answer'],
    [200, { 'content-encoding': 'gzip' }, 0, 'bad_answer'],
    [206, { 'content-range': 'bytes 0-9/10' }, 0, 'bad_answer'],
    [206, { 'content-range': 'bytes 4-9/10' }, 5, 'bad_answer'],
    [206, { 'content-range': 'bytes 5-8/10' }, 5, 'bad_answer'],
    [206, {}, 5, 'bad_answer'],
    [206, { 'content-range': 'bytes 5-9/*' }, 5, 'bad_answer'],
    [206, { 'content-range': `bytes 5-${'9'.repeat(16)}/1${'0'.repeat(16)}` }, 5, 'bad_answer'],
  ])('%i with %j to a request from byte %i on ends the import with %s', (status, headers, offset, code) => {
    expect(() => readFileAnswer(status, headers, offset)).toThrow(
      expect.objectContaining({ code, httpStatus: status }),
    );
  });

  it.each([408, 416, 425, 429, 500, 503])('%i only interrupts an import', (status) => {
    expect(() => readFileAnswer(status, { 'retry-after': '7' }, 0)).toThrow(
      expect.objectContaining({
        name: 'ImportInterruption',
        message: `the server answered ${status}`,
        httpStatus: status,
        retryAfter: '7',
      }),
    );
    expect(() => readFileAnswer(status, {}, 0)).toThrow(expect.objectContaining({ retryAfter: null }));
  });

  it('an interruption may have another cause than an answer', () => {
    const cause = new Error('reset');
    expect(new ImportInterruption('cut', { cause })).toMatchObject({ cause, httpStatus: null, retryAfter: null });
    expect(new ImportInterruption('cut')).toMatchObject({ message: 'cut', httpStatus: null, retryAfter: null });
  });
});
