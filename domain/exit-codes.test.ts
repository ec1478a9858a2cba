import { expect, it } from 'vitest';
import { type JobErrorCode, jobErrorCodes } from './errors.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';

const { permanent, transient, outOfResource, stopped } = exitCodes;

it('a step ends with the exit code of its error', () => {
  const expected: Record<JobErrorCode, number> = {
    source_not_found: permanent,
    source_unreadable: transient,
    source_changed: permanent,
    unsupported_media: permanent,
    corrupt_input: permanent,
    no_video_stream: permanent,
    timestamp_out_of_range: permanent,
    limit_exceeded: permanent,
    resource_exhausted: outOfResource,
    preempted_too_often: transient,
    deadline_exceeded: transient,
    storage_error: transient,
    packager_error: transient,
    cancelled: stopped,
    internal: permanent,
  };
  expect(Object.fromEntries(jobErrorCodes.map((code) => [code, exitCodeOf(code)]))).toEqual(expected);
});
