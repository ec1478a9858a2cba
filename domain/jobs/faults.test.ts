import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { explain, faultOfToString, faultsOf } from './faults.ts';

/** The faults of an input, as `pointer code: detail`. */
function faults(schema: z.ZodType, input: unknown, options: Parameters<typeof faultsOf>[1] = { schema }): string[] {
  const result = schema.safeParse(input, { error: explain });
  if (result.success) return [];
  return faultsOf(result.error, options).map(({ pointer, code, detail }) => `${pointer} ${code}: ${detail}`);
}

const operatorRule =
  'is not a field of this request; rules of the operator choose it (docs/guides/api.md, "Profile and priority")';

describe('what is expected of a value', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    ['a field that is missing', z.object({ a: z.string() }), {}, '/a invalid_type: is required'],
    ['a fraction', z.int(), 1.5, ' invalid_type: must be a whole number'],
    ['null', z.string(), null, ' invalid_type: must be a string, not null'],
    ['an object', z.array(z.string()), {}, ' invalid_type: must be an array, not an object'],
    ['another word', z.enum(['webp', 'gif']), 'jpg', ' invalid_value: must be one of webp, gif'],
    ['a long text', z.string().max(1), 'ab', ' too_big: must have at most 1 character'],
    ['a long list', z.array(z.int()).max(2), [1, 2, 3], ' too_big: must have at most 2 items'],
    ['a small number', z.number().min(1), 0, ' too_small: must be at least 1'],
    ['a text without a form', z.string().regex(/^x$/, 'must be x'), 'y', ' invalid_format: must be x'],
    ['what a rule of ours refuses', z.string().refine(() => false, 'must be so'), 'y', ' invalid_value: must be so'],
  ])('%s is explained', (_, schema, input, fault) => expect(faults(schema, input)).toEqual([fault]));

  it('faults are named below the part of the body that they are in', () => {
    const schema = z.object({ list: z.array(z.object({ 'a/b': z.int() })) });
    const input = { list: [{ 'a/b': 1 }, { 'a/b': 'x' }] };
    expect(faults(schema, input, { under: ['options', 0] })).toEqual([
      '/options/0/list/1/a~1b invalid_type: must be a number, not a string',
    ]);
  });
});

describe('an unknown field', () => {
  const schema = z.strictObject({
    type: z.string().optional(),
    options: z
      .strictObject({
        cover: z.strictObject({ timestamp_sec: z.number().optional() }).prefault({}),
        outputs: z.array(z.strictObject({ width: z.int().optional() })).default([]),
      })
      .optional(),
  });

  it.each<[unknown, string]>([
    [{ tipe: 1 }, '/tipe unknown_field: is not a known field; known here: type, options; did you mean /type?'],
    [
      { timestamp_sec: 1 },
      '/timestamp_sec unknown_field: is not a known field; known here: type, options; did you mean /options/cover/timestamp_sec?',
    ],
    [
      { options: { timestamp_sec: 1 } },
      '/options/timestamp_sec unknown_field: is not a known field; known here: cover, outputs; did you mean /options/cover/timestamp_sec?',
    ],
    [
      { options: { cover: { timestamp: 1 } } },
      '/options/cover/timestamp unknown_field: is not a known field; known here: timestamp_sec; did you mean /options/cover/timestamp_sec?',
    ],
    [{ opt: 1 }, '/opt unknown_field: is not a known field; known here: type, options'],
    [
      { options: { outputs: [{}, { widthh: 1 }] } },
      '/options/outputs/1/widthh unknown_field: is not a known field; known here: width; did you mean /options/outputs/1/width?',
    ],
  ])('%j is explained by what is known there, and what may be meant', (input, fault) =>
    expect(faults(schema, input)).toEqual([fault]),
  );

  it.each(['profile', 'priority', 'pool'])('`%s`, which only an operator chooses, is explained so', (name) => {
    expect(faults(schema, { [name]: 1 })).toEqual([`/${name} unknown_field: ${operatorRule}`]);
  });

  it('faults are a thousand at most, of fields that are unknown and of others', () => {
    const unknown = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`x${n}`, 1]));
    expect(faults(schema, unknown)).toHaveLength(1_000);
    expect(
      faults(
        z.array(z.int()),
        Array.from({ length: 1_001 }, () => 'x'),
      ),
    ).toHaveLength(1_000);
  });
});

describe('a field toString', () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);

  it.each([
    [{ a: [1, { 'x/y': { toString: 1 } }] }, '/a/1/x~1y/toString'],
    [{ toString: null }, '/toString'],
    [JSON.parse(`${'['.repeat(100_000)}{"toString":1}${']'.repeat(100_000)}`), ''],
  ])('is found wherever it is', (document: unknown, pointer) => {
    expect(faultOfToString(document)).toMatchObject({ pointer, code: 'unknown_field' });
  });

  it.each([[{ valueOf: 1, a: ['toString', null, 1] }], ['toString'], [null], [undefined], [cyclic]])(
    'is not in document %#',
    (document) => expect(faultOfToString(document)).toBeNull(),
  );
});
