import { isJobProblem, KnownProblem } from './errors.ts';

/** No disk, memory, descriptors, threads or processes are left. */
const codes: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'ENOMEM',
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'ERR_MEMORY_ALLOCATION_FAILED',
  'ERR_WORKER_INIT_FAILED',
]);
/**
 * libvips has no code: its messages end with the C library's, or state the memory that it was refused. V8 has none for
 * the memory of WebAssembly. Node has a code of its own for a package.json that it cannot read; the message ends with
 * libuv's.
 */
const inMessage = new RegExp(
  [
    'system error: (No space left on device|Disk quota exceeded|Cannot allocate memory|Too many open files)',
    'vips_tracked: out of memory',
    '^WebAssembly\\.\\w+\\(\\): Out of memory',
    '^Cannot read package config .*: (not enough memory|too many open files|file table overflow)',
  ].join('|'),
);

/**
 * Used up disk, memory, descriptors, threads or processes are a known problem, `resource_exhausted`, also as the cause
 * of an error; any other error is returned as it is.
 */
export function asProblem(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || isJobProblem(thrown)) return thrown;
  return isOutOfResource(thrown) ? new KnownProblem('resource_exhausted', undefined, { cause: thrown }) : thrown;
}

function isOutOfResource(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return codes.has(code) || inMessage.test(error.message) || isOutOfResource(error.cause);
}
