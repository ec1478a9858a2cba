import { array, assert, constantFrom, oneof, property, string, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRawHead } from './raw-head.ts';

const lines = [
  'HTTP/1.1 200 OK',
  'Content-Length: 10',
  'ETag: "abc"',
  'Last-Modified: Fri, 21 Nov 2025 00:00:00 GMT',
  'Connection: keep-alive',
];
const headOf = (given: readonly string[]) => Buffer.from(`${given.join('\r\n')}\r\n\r\n`, 'latin1');
const replaced = (from: string, ...to: string[]) =>
  headOf(lines.flatMap((line) => (line.startsWith(from) ? to : [line])));

describe('readRawHead', () => {
  it('the head of an answer is read up to its empty line', () => {
    const head = headOf(lines);
    expect(readRawHead(Buffer.concat([head, Buffer.from('0123')]))).toEqual({
      headBytes: head.length,
      bodyBytes: 10,
      sizeBytes: 10,
      etag: '"abc"',
      lastModified: new Date('2025-11-21T00:00:00Z'),
      isKeptAlive: true,
    });
  });

  const ofRange = ['HTTP/1.1 206 Partial Content', ...lines.slice(1), 'Content-Range: bytes 20-29/100'] as const;
  const range = { start: 20, end: 29 };

  it('the head of an answer to a range says how large the object is', () => {
    const answer = { bodyBytes: 10, sizeBytes: 100, etag: '"abc"', isKeptAlive: true };
    expect(readRawHead(headOf(ofRange), range)).toMatchObject(answer);
  });

  it.each([
    ['the whole', headOf(lines)],
    ['a whole that says its range', headOf([lines[0] ?? '', ...ofRange.slice(1)])],
    ['no range', headOf(ofRange.slice(0, -1))],
    ['an earlier range', headOf([...ofRange.slice(0, -1), 'Content-Range: bytes 19-28/100'])],
    ['a shorter range', headOf([...ofRange.slice(0, -1), 'Content-Range: bytes 20-28/100'])],
    ['another length', headOf(ofRange.map((line) => line.replace('Length: 10', 'Length: 11')))],
    ['an unknown size', headOf([...ofRange.slice(0, -1), 'Content-Range: bytes 20-29/*'])],
    ['two ranges', headOf([...ofRange, 'Content-Range: bytes 20-29/100'])],
    ['several parts', headOf([...ofRange.slice(0, -1), 'Content-Type: multipart/byteranges; boundary=a'])],
  ])('an answer of %s to a range is left to the SDK path', (_what, head) => {
    expect(readRawHead(head, range)).toBe('unfit');
  });

  it('a head is incomplete until its empty line has come whole', () => {
    const head = headOf(lines);
    for (let length = 0; length < head.length; length++)
      expect(readRawHead(head.subarray(0, length))).toBe('incomplete');
  });

  it.each(['Connection: close', 'connection: Keep-Alive, Close'])(
    'a connection whose answer says %s is not used again',
    (line) => {
      expect(readRawHead(replaced('Connection', line))).toMatchObject({ isKeptAlive: false });
    },
  );

  it.each([
    ['another status', replaced('HTTP', 'HTTP/1.1 206 Partial Content')],
    ['an interim answer', replaced('HTTP', 'HTTP/1.1 100 Continue')],
    ['a status that only begins like 200', replaced('HTTP', 'HTTP/1.1 2000 OK')],
    ['HTTP/1.0, which keeps no connection', replaced('HTTP', 'HTTP/1.0 200 OK')],
    ['no length', replaced('Content-Length')],
    ['two lengths', replaced('Content-Length', 'Content-Length: 10', 'Content-Length: 10')],
    ['a list of lengths', replaced('Content-Length', 'Content-Length: 10, 10')],
    ['a length in hex', replaced('Content-Length', 'Content-Length: 0x10')],
    ['chunks', headOf([...lines, 'Transfer-Encoding: chunked'])],
    ['a coding', headOf([...lines, 'content-encoding: gzip'])],
    ['a range', headOf([...lines, 'Content-Range: bytes 0-9/20'])],
    ['no ETag', replaced('ETag')],
    ['no date', replaced('Last-Modified')],
    ['a space before the colon', replaced('Content-Length', 'Content-Length : 10')],
    ['a folded line', headOf([...lines, 'x-a: 1', ' Content-Length: 5'])],
    ['a bare line feed in a value', headOf([...lines, 'x-a: 1\nContent-Length: 5'])],
    ['NUL in a value', headOf([...lines, 'x-a: \u0000'])],
  ])('an answer with %s is left to the SDK path', (_what, head) => {
    expect(readRawHead(head)).toBe('unfit');
  });

  it('no sequence of lines is read as a head that it is not', () => {
    const line = oneof(constantFrom(...lines, 'Content-Length: 5', 'Transfer-Encoding: chunked', ''), string());
    assert(
      property(array(line, { maxLength: 8 }), (given) => {
        const head = readRawHead(headOf(given));
        if (typeof head === 'string') return;
        const ofHead = given.includes('') ? given.slice(0, given.indexOf('')) : given;
        const lengths = ofHead.filter((one) => /^content-length:/i.test(one));
        expect(given[0]).toMatch(/^HTTP\/1\.1 200/);
        expect(lengths).toHaveLength(1);
        expect(lengths[0]).toContain(String(head.sizeBytes));
      }),
      { numRuns: 2000 },
    );
    assert(property(uint8Array({ maxLength: 300 }), (bytes) => void readRawHead(Buffer.from(bytes))));
  });
});
