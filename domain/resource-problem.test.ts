import { expect, it } from 'vitest';
import { KnownProblem } from './errors.ts';
import { asProblem } from './resource-problem.ts';

const withCode = (code: string) => Object.assign(new Error(`${code}: as Node has it`), { code });
// As sharp throws it for a disk that is full, and without free descriptors.
const ofSharp = new Error('/work/made/thumb.webp: unable to open for write\nsystem error: Too many open files');
// As sharp throws it for a WebP, and V8 for a decoder in WebAssembly.
const ofVips = new Error('Input buffer has corrupt header: vips_tracked: out of memory -- size == 244MB');
const ofWasm = new RangeError('WebAssembly.Instance(): Out of memory: Cannot allocate Wasm memory for new instance');
// As Node throws it for a module.
// As commands that cannot be started have it.
const asCause = new Error('cannot start ffmpeg: EMFILE', { cause: withCode('EMFILE') });
const bug = new TypeError('undefined is not a function');
const missing = withCode('ENOENT');
const known = new KnownProblem('corrupt_input', 'system error: No space left on device');

it.each([
  ['a full disk by its code', withCode('ENOSPC'), 'resource_exhausted'],
  ['a process without free descriptors', withCode('EMFILE'), 'resource_exhausted'],
  ['a machine without memory', withCode('ENOMEM'), 'resource_exhausted'],
  ['a thread that cannot start', withCode('ERR_WORKER_INIT_FAILED'), 'resource_exhausted'],
  ['a lack of descriptors by the message of libvips', ofSharp, 'resource_exhausted'],
  ['memory that libvips is refused', ofVips, 'resource_exhausted'],
  ['memory that WebAssembly is refused', ofWasm, 'resource_exhausted'],
  ['a lack of descriptors as the cause of an error', asCause, 'resource_exhausted'],
  ['a known problem', known, 'corrupt_input'],
  ['a missing file', missing, 'ENOENT'],
  ['a bug', bug, undefined],
])('%s has the code that decides whether the job is tried again', (_, thrown, code) => {
  const problem = asProblem(thrown) as { readonly code?: string };
  expect(problem.code).toBe(code);
});
