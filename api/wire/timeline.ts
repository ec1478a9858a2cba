import { sumOfKnown } from '#domain/work/unit-run.ts';
import type { JobTimeline, TimelineAttempt } from '#platform/postgres/job-timeline.ts';
import type { Wire } from './schemas.ts';

/** The timeline of a job. */
export function timelineToWire(timeline: JobTimeline): Wire<'JobTimeline'> {
  const attempts = timeline.attempts.map(attemptToWire);
  return {
    job_id: timeline.id,
    pool: timeline.pool,
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

function attemptToWire(attempt: TimelineAttempt): Wire<'JobTimeline'>['attempts'][number] {
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
