import { describe, expect, it } from 'vitest';
import { jsonPointer } from './faults.ts';
import { mediaHashSchema, parseSubmission, sourceKeySchema } from './submission.ts';

const valid = { type: 'image:thumbnail', hash: 'h1', source: 'a/b.jpg' };

function pointersOf(body: unknown): string[] {
  return (parseSubmission(body).faults ?? []).map(({ pointer, code }) => `${pointer} ${code}`);
}

const unknown = (prefix: string) => Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`${prefix}${n}`, 1]));

describe('parseSubmission', () => {
  it('the parser of a submission fills in the defaults of the options and of the callback', () => {
    expect(parseSubmission(valid).submission).toEqual({
      ...valid,
      options: { outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] },
      callbackUrl: null,
    });
  });

  it('a body with too many faults is answered with a thousand of them, and a thousand of its options', () => {
    const pointers = pointersOf({ ...valid, ...unknown('x'), options: unknown('y') });
    expect([pointers.length, pointers[0], pointers[1_000]]).toEqual([
      2_000,
      '/x0 unknown_field',
      '/options/y0 unknown_field',
    ]);
  });

  it('C22.22: every fault of a body is named at once, inside the options too, each unknown field by itself', () => {
    const body = {
      type: 'video:full',
      hash: '',
      source: '/x',
      source_bucket: 'b',
      'a/b~c': 1,
      options: { timestamp_sec: 1, cover: { timestamp_sec: -1, x: 1 } },
      callback_url: 'ftp://a',
    };
    expect(pointersOf(body).toSorted()).toEqual(
      [
        '/hash invalid_format',
        '/source invalid_value',
        '/source_bucket unknown_field',
        '/a~1b~0c unknown_field',
        '/options/timestamp_sec unknown_field',
        '/options/cover/timestamp_sec too_small',
        '/options/cover/x unknown_field',
        '/callback_url invalid_value',
      ].toSorted(),
    );
  });

  it.each([undefined, null, 1, 'text', [], [valid]])('the submission %j is refused, since it is no object', (body) => {
    expect(parseSubmission(body).submission).toBeUndefined();
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'a field of a submission called %s is refused',
    (name) => {
      const body: unknown = JSON.parse(JSON.stringify(valid).replace('{', `{"${name}":{"options":{}},`));
      expect(pointersOf(body)).toEqual([`/${name} unknown_field`]);
      const inside: unknown = JSON.parse(JSON.stringify(valid).replace('}', `,"options":{"${name}":{"outputs":[]}}}`));
      expect(pointersOf(inside)).toEqual([`/options/${name} unknown_field`]);
    },
  );

  it('a null in a submission is refused where a field may be left out', () => {
    expect(pointersOf({ ...valid, options: null, callback_url: null }).toSorted()).toEqual([
      '/callback_url invalid_type',
      '/options invalid_type',
    ]);
  });

  it.each([
    ['https://example.com/hook?x=1', true],
    ['http://example.com', true],
    ['//example.com', false],
    ['javascript:alert(1)', false],
    ['https://user:pass@example.com', false],
    ['https://exam ple.com/', false],
    ['https://example.com/\u0000', false],
    ['https://example.com/\ud800', false],
    [`https://example.com/${'x'.repeat(2048)}`, false],
  ])('a callback_url %j is valid: %s', (url, isValid) => {
    expect(pointersOf({ ...valid, callback_url: url }).length === 0).toBe(isValid);
  });
});

describe('mediaHashSchema', () => {
  it.each(['a', '0', 'A.b_c~d-e', 'x'.repeat(128)])('the schema of a hash accepts %s', (hash) => {
    expect(mediaHashSchema.safeParse(hash).success).toBe(true);
  });
  it.each(['', '.a', '-a', '~a', 'a..b', 'a/b', 'a b', 'a\n', 'ä', 'a%2e', 'x'.repeat(129)])(
    'the hash %j of a media is refused',
    (hash) => {
      expect(mediaHashSchema.safeParse(hash).success).toBe(false);
    },
  );
});

describe('sourceKeySchema', () => {
  it.each(['a', 'a/b c/ü.mp4', 'a..b', '.a', 'a./b', 'x'.repeat(1024), 'a//b'])(
    'the schema of a source key accepts %s',
    (key) => {
      expect(sourceKeySchema.safeParse(key).success).toBe(true);
    },
  );
  it.each([
    '',
    '/a',
    '..',
    'a/../b',
    'a/..',
    '.',
    './a',
    'a/./b',
    'a\u0000',
    'a\nb',
    'a\u0085',
    '\ud800',
    'x'.repeat(1025),
    'ü'.repeat(513),
  ])('the key %j of a source is refused', (key) => {
    expect(sourceKeySchema.safeParse(key).success).toBe(false);
  });
});

describe('jsonPointer', () => {
  it('a JSON pointer escapes as RFC 6901 says', () => {
    expect(jsonPointer(['a/b', 0, 'm~n', ''])).toBe('/a~1b/0/m~0n/');
    expect(jsonPointer([])).toBe('');
  });
});
