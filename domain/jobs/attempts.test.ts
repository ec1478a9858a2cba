import { describe, expect, it } from 'vitest';
import { type AttemptEnd, mayBeStorageOutage, verdictOf } from './attempts.ts';
import { jobErrorOf } from '../job-error.ts';

const first = { attempt: 1, failures: 0, disruptions: 0 };
const failed = (exitCode: number | null, error = null as ReturnType<typeof jobErrorOf> | null): AttemptEnd => ({
  kind: 'failed',
  exitCode,
  error,
});
const verdict = (end: AttemptEnd, job = first, random = 0.5) => verdictOf({ job, end, attemptsMax: 3, random });

describe('what follows the end of an attempt', () => {
  it('a permanent fault of the input ends the job with the reported error', () => {
    const error = jobErrorOf('no_video_stream', 1);
    expect(verdict(failed(10, error))).toEqual({ next: 'fail', error });
  });

  it.each([[20], [30], [1], [null]])('exit code %s is counted and tried again', (exitCode) => {
    expect(verdict(failed(exitCode))).toMatchObject({ next: 'again', countsAsFailure: true });
  });

  it('the last counted failure ends the job with what was reported', () => {
    const error = jobErrorOf('storage_error', 3, 'The bucket is away.');
    expect(verdict(failed(20, error), { attempt: 3, failures: 2, disruptions: 0 })).toEqual({ next: 'fail', error });
  });

  it.each([
    [null, 'resource_exhausted'],
    [30, 'resource_exhausted'],
    [20, 'storage_error'],
    [10, 'internal'],
    [1, 'internal'],
  ])('a step that ends with %s and without a word is called %s', (exitCode, code) => {
    const found = verdict(failed(exitCode), { attempt: 3, failures: 2, disruptions: 0 });
    expect(found).toMatchObject({ next: 'fail', error: { code, attempt: 3 } });
  });

  it('a disruption is tried again at once and costs no attempt, whatever failed before', () => {
    const again = { next: 'again', countsAsFailure: false, delayMs: 0 };
    expect(verdict({ kind: 'disrupted' })).toEqual(again);
    expect(verdict({ kind: 'disrupted' }, { attempt: 3, failures: 2, disruptions: 0 })).toEqual(again);
  });

  it('a failure during a storage outage is tried again after a pause and costs no attempt', () => {
    const again = { next: 'again', countsAsFailure: false, delayMs: 2_000 };
    expect(verdict({ kind: 'storage_outage' }, { attempt: 3, failures: 2, disruptions: 0 })).toEqual(again);
  });

  it.each([
    [20, null, true],
    [20, 'storage_error', true],
    [20, 'source_unreadable', true],
    [20, 'deadline_exceeded', false],
    [10, 'storage_error', false],
    [null, null, false],
  ] as const)('exit code %s with %s: an outage of the storage explains it: %s', (exitCode, code, isExplained) => {
    const error = code === null ? null : jobErrorOf(code, 1);
    expect(mayBeStorageOutage(failed(exitCode, error), 1)).toBe(isExplained);
  });

  it('an attempt that exceeds its deadline is tried again once', () => {
    const late = failed(20, jobErrorOf('deadline_exceeded', 1));
    expect(verdict(late)).toMatchObject({ next: 'again', countsAsFailure: true });
    expect(verdict(late, { attempt: 2, failures: 1, disruptions: 0 })).toMatchObject({
      next: 'fail',
      error: { code: 'deadline_exceeded' },
    });
  });

  it('the fiftieth disruption ends the job, and counted failures are not disruptions', () => {
    expect(verdict({ kind: 'disrupted' }, { attempt: 50, failures: 1, disruptions: 48 })).toMatchObject({
      next: 'again',
    });
    expect(verdict({ kind: 'disrupted' }, { attempt: 50, failures: 0, disruptions: 49 })).toMatchObject({
      next: 'fail',
      error: { code: 'preempted_too_often', attempt: 50 },
    });
  });

  it.each([
    [0, 0.5, 2_000],
    [1, 0.5, 8_000],
    [2, 0.5, 32_000],
    [0, 0, 1_600],
    [9, 0.5, 300_000],
  ])('after %i earlier failures and with random %d the wait is %i ms', (failures, random, delayMs) => {
    const job = { attempt: failures + 1, failures, disruptions: 0 };
    const found = verdictOf({ job, end: failed(20), attemptsMax: 99, random });
    expect(found).toEqual({ next: 'again', countsAsFailure: true, delayMs });
  });
});
