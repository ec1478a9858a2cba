import { z } from 'zod';
import { jobErrorCodes } from '#domain/errors.ts';
import { attemptsKept, endResults } from '#domain/jobs/attempts.ts';
import { sumOfKnown, unitRunSchema, unitsListedMax } from '#domain/work/unit-run.ts';
import type { JobTimeline, TimelineAttempt } from '#platform/postgres/job-timeline.ts';
import { answers } from '#platform/http/route-doc.ts';
import { count, jobIdField, keyIdField, time } from './fields.ts';

const knownMs = count.nullable().meta({ examples: [151_000] });
const knownBytes = count.nullable().meta({ examples: [48_000_000] });

const attemptSchema = z.object({
  attempt: z.int().min(1).describe('The number of the attempt, from 1.'),
  worker: z
    .string()
    .nullable()
    .describe('The process that ran it, or `kubernetes`; the pods of its units are beside them.')
    .meta({ examples: ['worker-1:7'] }),
  claimed_at: time.describe('When it was claimed.'),
  ended_at: time.nullable().describe('When it ended; null while it runs.'),
  duration_ms: knownMs.describe('How long it took, in milliseconds; null while it runs.'),
  result: z
    .enum(endResults)
    .nullable()
    .describe('How it ended: `retried` counts as a failure, `disrupted` does not; null while it runs.'),
  code: z
    .enum(jobErrorCodes)
    .nullable()
    .describe('The error that ended it; null without one.')
    .meta({ examples: [null] }),
  processor_ms: knownMs.describe('Processor time of the steps where it is known, in milliseconds; null: not known.'),
  units: z
    .array(unitRunSchema)
    .max(unitsListedMax)
    .describe('Its units in the order of their starts, once it has ended.'),
  units_left_out: count.describe('How many further units it had.').meta({ examples: [0] }),
});
export const jobTimelineSchema = z
  .object({
    job_id: jobIdField,
    pool: z
      .string()
      .describe('The RunnerPool.')
      .meta({ examples: ['default'] }),
    key_id: keyIdField.describe('The API key that asked for the job; null: none did.'),
    accepted_at: time.describe('When the job was accepted.'),
    finished_at: time.nullable().describe('When it ended.'),
    attempts: z
      .array(attemptSchema)
      .max(attemptsKept + 1)
      .describe('The attempts that were claimed, in their order.'),
    usage: z
      .object({
        duration_ms: knownMs.describe('Milliseconds; null: not known.'),
        processor_ms: knownMs.describe('Processor time in milliseconds; null: not known.'),
        source_bytes: knownBytes.describe('The size of the source in bytes; null: not known.'),
        result_bytes: knownBytes.describe('The size of the results in bytes; null: not known.'),
      })
      .describe('What all attempts took, as far as it is known.'),
  })
  .register(answers, { id: 'JobTimeline' });

/** The timeline of a job. */
export function timelineToWire(timeline: JobTimeline): z.output<typeof jobTimelineSchema> {
  const attempts = timeline.attempts.map(attemptToWire);
  return {
    job_id: timeline.id,
    pool: timeline.pool,
    key_id: timeline.keyId,
    accepted_at: timeline.acceptedAt.toISOString(),
    finished_at: timeline.finishedAt?.toISOString() ?? null,
    attempts,
    usage: {
      duration_ms: sumOfKnown(attempts.map(({ duration_ms: ms }) => ms)),
      processor_ms: sumOfKnown(attempts.map(({ processor_ms: ms }) => ms)),
      source_bytes: timeline.sourceBytes,
      result_bytes: timeline.resultBytes,
    },
  };
}

function attemptToWire(attempt: TimelineAttempt): z.output<typeof attemptSchema> {
  const { claimedAt, endedAt, result, code, processor_ms, units, units_left_out } = attempt;
  return {
    attempt: attempt.attempt,
    worker: attempt.worker?.replace(/:[0-9a-f-]{36}$/, '') ?? null,
    claimed_at: claimedAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    duration_ms: endedAt === null ? null : endedAt.getTime() - claimedAt.getTime(),
    result,
    code,
    processor_ms,
    units: [...units],
    units_left_out,
  };
}
