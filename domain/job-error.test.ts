import { describe, expect, it } from 'vitest';
import { KnownProblem } from './errors.ts';
import { jobErrorSchema, toJobError } from './job-error.ts';

describe('what a thrown value becomes in a job', () => {
  it('C13.7: a known problem keeps its code, its message, its stage and the end of its log', () => {
    const problem = new KnownProblem('packager_error', 'The packager gave up.', {
      stage: 'transcode',
      logTail: `${'x'.repeat(5000)}end`,
    });
    const error = toJobError(problem, 2);
    expect(error).toMatchObject({
      code: 'packager_error',
      message: 'The packager gave up.',
      stage: 'transcode',
      retryable: true,
      attempt: 2,
    });
    expect(error.details?.log_tail).toHaveLength(4096);
    expect(error.details?.log_tail).toMatch(/xend$/);
    expect(jobErrorSchema.safeParse(error).success).toBe(true);
  });

  it('a known problem without a stage or log has neither field', () => {
    const error = toJobError(new KnownProblem('storage_error'), 1);
    expect(Object.keys(error).toSorted()).toEqual(['attempt', 'code', 'message', 'retryable']);
    expect(error.message).toBe('Object storage failed.');
  });

  it('an error that is read keeps the end of a long log', () => {
    const stored = { ...toJobError(new KnownProblem('storage_error'), 1), details: { log_tail: 'x'.repeat(5000) } };
    expect(jobErrorSchema.parse(stored).details).toEqual({ log_tail: 'x'.repeat(4096) });
  });

  it('a known problem has its name, and its cause where it has one', () => {
    const cause = new TypeError('not shown');
    expect(new KnownProblem('internal', undefined, { cause })).toMatchObject({ name: 'KnownProblem', cause });
    expect(Object.hasOwn(new KnownProblem('internal'), 'cause')).toBe(false);
  });

  it.each([
    ['a bug', new TypeError('cannot read /srv/keys/secret.pem')],
    ['a problem of a request', new KnownProblem('invalid_request', 'not for jobs')],
    ['something that is no error', 'a word'],
  ])('%s is internal, and its own words are not shown', (_what, thrown) => {
    expect(toJobError(thrown, 1)).toEqual({
      code: 'internal',
      message: 'An internal error occurred.',
      retryable: false,
      attempt: 1,
    });
  });
});
