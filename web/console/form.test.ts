import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Field } from './types.ts';

// Where the faults of a refused request stand in a form.

const fields: Field[] = [
  ['hash', 'Media hash', '/hash'],
  ['options', 'Options', '/options'],
];

beforeEach(() => vi.stubGlobal('document', { baseURI: 'http://reelwright.test/console/' }));
afterEach(() => vi.unstubAllGlobals());

it('a fault stands at the field that makes its part of the request, and others are said of the form', async () => {
  const { faultsByField } = await import('./form.js');
  const { byName, rest } = faultsByField(fields, [
    { pointer: '/options/transcode/encrypt', detail: 'must be true or false' },
    { pointer: '/options', detail: 'is too long.' },
    { pointer: '/hash', detail: 'must not be empty' },
    { pointer: '/hashes', detail: 'is not a known field' },
    { pointer: '', detail: 'the body is no object' },
  ]);
  expect([...byName]).toEqual([
    ['hash', 'Must not be empty.'],
    ['options', '/options/transcode/encrypt: must be true or false. Is too long.'],
  ]);
  expect(rest).toEqual(['/hashes: is not a known field.', 'The body is no object.']);
});
