import { attemptsKept, type EndResult } from '#domain/jobs/attempts.ts';
import { type UnitRun, workOf } from '#domain/work/unit-run.ts';
import { toJson } from './job-row.ts';

// The attempts of a job that have ended, in its row: written by the statement that ends an attempt, so that what ends
// together is recorded together, and bounded. An attempt that is not claimed did nothing and is not recorded; a worker
// of an earlier version leaves `claimed_at` behind without an owner. The time is the statement's: after the locks that
// its transaction waited for, and the same as `finished_at`.

/** What is recorded of an attempt beside its times. */
export interface EndOfAttempt {
  readonly result: EndResult;
  /** Of the error. */
  readonly code?: string | undefined;
  /** What it ran; by default it is not known. */
  readonly units?: readonly UnitRun[] | undefined;
}

/** The assignments of an `update jobs` that ends an attempt; its parameters from `$first` on are `endParameters`. */
export function endAssignments(first: number): string {
  return `
    ended_attempts = case when claimed_at is null or lease_owner is null then ended_attempts else
      case when jsonb_array_length(ended_attempts) >= ${attemptsKept} then ended_attempts - 0
        else coalesce(ended_attempts, '[]'::jsonb) end
      || (jsonb_build_object('attempt', attempt, 'worker', lease_owner, 'claimed_at', claimed_at, 'ended_at', statement_timestamp()::timestamptz(3),
        'result', $${first}::text, 'code', $${first + 1}::text) || coalesce($${first + 2}::jsonb, '{}'::jsonb)) end,
    claimed_at = null`;
}

/** The parameters of `endAssignments`. */
export function endParameters({ result, code, units }: EndOfAttempt): readonly unknown[] {
  return [result, code ?? null, units === undefined || units.length === 0 ? null : toJson(workOf(units))];
}
