import { describe, expect, it } from 'vitest';
import { jsonPointer } from './faults.ts';
import { jobTypeNames } from '../job-types/index.ts';
import { mediaHashSchema, parseSubmission, sourceKeySchema, submissionBodySchema } from './submission.ts';

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

  it('a fault of an option says what is right, as one of the body does', () => {
    const body = { ...valid, hash: 1, options: { outputs: 1 } };
    expect(parseSubmission(body).faults?.map(({ pointer, detail }) => [pointer, detail])).toEqual([
      ['/hash', 'must be a string, not a number'],
      ['/options/outputs', 'must be an array, not a number'],
    ]);
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
    ['https:example.com/h', false],
    ['//example.com', false],
    ['javascript:alert(1)', false],
    ['https://user:pass@example.com', false],
    ['https://exam ple.com/', false],
    ['https://example.com/\ud800', false],
    [`https://example.com/${'x'.repeat(2048)}`, false],
  ])('a callback_url %j is valid: %s', (url, isValid) => {
    expect(pointersOf({ ...valid, callback_url: url }).length === 0).toBe(isValid);
  });
});

const faultOf = (body: unknown) => (parseSubmission(body).faults ?? []).map(({ pointer, detail }) => [pointer, detail]);

describe('what is wrong with a submission', () => {
  it.each<[string, string, unknown, string]>([
    [
      'a hash with other characters',
      'hash',
      '-a',
      'must be 1–128 of A–Z, a–z, 0–9, ".", "_", "~" and "-", and begin with a letter or digit',
    ],
    ['a hash with dots', 'hash', 'a..b', 'must not contain ".."'],
    ['a long source', 'source', 'ü'.repeat(513), 'must be at most 1024 bytes of UTF-8'],
    ['half a character in a source', 'source', 'a\ud800', 'must be well-formed Unicode'],
    ['a control character in a source', 'source', 'a\u007f', 'must not contain control characters'],
    ['a source from the root', 'source', '/a', 'must not begin with "/"'],
    ['a step up in a source', 'source', 'a/../b', 'must not contain a "." or ".." segment'],
    ['a space in an address', 'callback_url', 'https://a.example/ b', 'must not contain spaces or control characters'],
    ['half a character in an address', 'callback_url', 'https://a.example/\ud800', 'must be well-formed Unicode'],
    ['another protocol of an address', 'callback_url', 'ftp://a.example/', 'must be an http or https URL'],
    ['no address', 'callback_url', 'a.example', 'must be an http or https URL'],
    ['a user in an address', 'callback_url', 'https://u@a.example/', 'must not contain credentials'],
    ['a password in an address', 'callback_url', 'https://:p@a.example/', 'must not contain credentials'],
    ['a long address', 'callback_url', `https://a.example/${'x'.repeat(2031)}`, 'must have at most 2048 characters'],
  ])('%s is explained', (_, field, value, detail) => {
    expect(faultOf({ ...valid, [field]: value })).toEqual([[`/${field}`, detail]]);
  });

  it('a body that is no object is explained, and an empty one', () => {
    expect(parseSubmission(undefined).faults).toEqual([
      { pointer: '', code: 'invalid_type', detail: 'the body is empty; send a JSON object' },
    ]);
    expect(faultOf(null)).toEqual([['', 'must be an object, not null']]);
    expect(faultOf('text')).toEqual([['', 'must be an object, not a string']]);
  });

  it('an address to which no webhook may go is refused with the others faults', () => {
    const refused = { ...valid, callback_url: 'https://10.0.0.1/' };
    const asked: string[] = [];
    const { faults } = parseSubmission({ ...refused, hash: '' }, ({ href }) => asked.push(href) > 1);
    expect(asked).toEqual(['https://10.0.0.1/']);
    expect(faults?.map(({ pointer, code }) => [pointer, code])).toEqual([
      ['/hash', 'invalid_format'],
      ['/callback_url', 'address_refused'],
    ]);
    expect(faults?.[1]?.detail).toBe('must lead to a public address or to a network that WEBHOOK_ALLOWED_CIDRS names');
    expect(parseSubmission(refused, () => true).submission?.callbackUrl).toBe('https://10.0.0.1/');
  });

  it('an unknown field of a submission is explained by the fields of its type', () => {
    expect(faultOf({ ...valid, variant: 1 })).toEqual([
      ['/variant', expect.stringContaining('did you mean /options/outputs/0/variant?')],
    ]);
    expect(faultOf({ ...valid, type: 'other', variant: 1 })).toEqual([
      ['/type', expect.stringContaining('must be one of image:thumbnail, ')],
      ['/variant', 'is not a known field; known here: type, options, hash, source, callback_url'],
    ]);
  });
});

describe('the body that documents show', () => {
  it.each(jobTypeNames)('has a shape for %s, with its options', (type) => {
    const body = { type, hash: 'h', source: 's', callback_url: 'https://a.example/', options: {} };
    expect(submissionBodySchema.safeParse(body).success).toBe(true);
    const { options: _, callback_url: __, ...least } = body;
    expect(submissionBodySchema.parse(least)).toEqual(least);
    for (const other of [{ x: 1 }, { options: { x: 1 } }, { hash: '' }, { source: '' }, { callback_url: '' }])
      expect([other, submissionBodySchema.safeParse({ ...body, ...other }).success]).toEqual([other, false]);
  });
});

describe('mediaHashSchema', () => {
  it.each(['', '.a', '-a', '~a', 'a..b', 'a/b', 'a b', 'a\n', 'ä', 'a%2e', 'x'.repeat(129)])(
    'the hash %j of a media is refused',
    (hash) => {
      expect(mediaHashSchema.safeParse(hash).success).toBe(false);
    },
  );
});

describe('sourceKeySchema', () => {
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
