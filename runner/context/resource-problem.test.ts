import { expect, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { asProblem } from './resource-problem.ts';

const withCode = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
// As sharp throws it for a disk that is full.
const ofSharp = new Error('/work/made/thumb.webp: write error\nsystem error: No space left on device');
const bug = new TypeError('undefined is not a function');
const known = new KnownProblem('corrupt_input', 'system error: No space left on device');

it.each([
  ['a full disk by its code', withCode, 'resource_exhausted'],
  ['a full disk by the message of libvips', ofSharp, 'resource_exhausted'],
  ['a known problem', known, 'corrupt_input'],
  ['a bug', bug, undefined],
])('%s has the code that decides whether the job is tried again', (_, thrown, code) => {
  const problem = asProblem(thrown) as { readonly code?: string };
  expect(problem.code).toBe(code);
});
