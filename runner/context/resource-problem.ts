import { isJobProblem, KnownProblem } from '#domain/errors.ts';

/** libvips has no code: the message of a write that failed ends with the C library's. */
const inMessage = /system error: (No space left on device|Disk quota exceeded|Cannot allocate memory)/;

/** A full disk or memory is a known problem, `resource_exhausted`; any other error is returned as it is. */
export function asProblem(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || isJobProblem(thrown)) return thrown;
  const code = 'code' in thrown ? thrown.code : undefined;
  const isOutOfResource = code === 'ENOSPC' || code === 'EDQUOT' || code === 'ENOMEM' || inMessage.test(thrown.message);
  return isOutOfResource ? new KnownProblem('resource_exhausted', undefined, { cause: thrown }) : thrown;
}
