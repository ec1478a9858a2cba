import { expect, it } from 'vitest';
import { isMade } from './clear-parts.ts';

it.each([
  ['never', false, false],
  ['clear', true, false],
  ['always', true, true],
] as const)('a part for %s streams is in a clear one: %s, and in an encrypted one: %s', (madeIn, clear, encrypted) => {
  const made = [false, true].map((encrypt) => isMade(madeIn, { type: 'video:transcode', options: { encrypt } }));
  expect(made).toEqual([clear, encrypted]);
});
