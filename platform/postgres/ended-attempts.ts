import { attemptsKept, type EndResult, wastedResults } from '#domain/jobs/attempts.ts';
import { type UnitRun, workOf } from '#domain/work/unit-run.ts';
import { usedTimeOf } from '#domain/work/used-time.ts';
import type { Step } from '#domain/work/steps.ts';
import { toJson } from './job-row.ts';

// The attempts of a job that have ended, in its row: written by the statement that ends an attempt, so that what ends
// together is recorded together, and bounded. An attempt that is not claimed did nothing and is not recorded; a worker
// of an earlier version leaves `claimed_at` behind without an owner. The time is the statement's: after the locks that
// its transaction waited for, and the same as `finished_at`.
//
// The same statement adds what the attempt used to the job's own sums, from which the usage of a day is counted
// (migration 0210): a sum grows exactly once for each attempt, since the statement changes the row of the current one.

/** The record of an attempt's end beside its times. */
export interface EndOfAttempt {
  readonly result: EndResult;
  /** The code of the error. */
  readonly code?: string | undefined;
  /** The units that it ran; by default they are not known. */
  readonly units?: readonly UnitRun[] | undefined;
}

/** The assignments of an `update jobs` that ends an attempt; its parameters from `$first` on are `endParameters`. */
export function endAssignments(first: number): string {
  return `
    ended_attempts = case when claimed_at is null or lease_owner is null then ended_attempts else
      case when jsonb_array_length(ended_attempts) >= ${attemptsKept} then ended_attempts - 0
        else coalesce(ended_attempts, '[]'::jsonb) end
      || (jsonb_build_object('attempt', attempt, 'worker', lease_owner, 'claimed_at', claimed_at, 'ended_at', statement_timestamp()::timestamptz(3),
        'result', $${first}::text, 'code', $${first + 1}::text)
        || coalesce($${first + 2}::jsonb, ${renewedWork}, '{}'::jsonb)) end,
    used_fetch_ms = used_fetch_ms + ${usedMs('fetch', first)},
    used_process_ms = used_process_ms + ${usedMs('process', first)},
    used_publish_ms = used_publish_ms + ${usedMs('publish', first)},
    used_pod_ms = used_pod_ms + ${podMs(first)},
    used_wasted_ms = used_wasted_ms + case when $${first}::text = any('{${wastedResults.join()}}') then ${podMs(first)} else 0 end,
    claimed_at = null`;
}

const isClaimed = 'claimed_at is not null and lease_owner is not null';

/** What is recorded of the work of an attempt that did not come to say it; null: it is not known either. */
const renewedWork = `case when (attempt_used ->> 'attempt')::int = attempt then jsonb_build_object('processor_ms',
        ${renewedMs('fetch')} + ${renewedMs('process')} + ${renewedMs('publish')}) end`;

/** The processor time of a step, as far as it is known: by the attempt's units, or by its last renewal of the lease. */
function usedMs(step: Step, first: number): string {
  const said = `($${first + 3}::json ->> '${step}')::bigint`;
  return `case when ${isClaimed} then coalesce(${said}, ${renewedMs(step)}) else 0 end`;
}

/** The processor time of a step that the last renewal of the current attempt's lease recorded. */
export function renewedMs(step: Step): string {
  return `case when (attempt_used ->> 'attempt')::int = attempt then (attempt_used ->> '${step}')::bigint else 0 end`;
}

/**
 * The time of the attempt's pods. Of one that did not come to say it, its worker had the job from the claim to now; a
 * cluster has it for longer than a pod runs, so there only what began counts.
 */
function podMs(first: number): string {
  return `
    case when ${isClaimed} then coalesce(($${first + 3}::json ->> 'pod')::bigint,
      case when lease_expires_at = 'infinity' and phase in ('admitted', 'scheduling') then 0
        else greatest(0, extract(epoch from statement_timestamp() - claimed_at) * 1000)::bigint end) else 0 end`;
}

/** The times of all attempts of a job, as `UsedTimes`. */
export const usedColumn = `json_build_object('fetchMs', used_fetch_ms, 'processMs', used_process_ms,
  'publishMs', used_publish_ms, 'podMs', used_pod_ms, 'wastedMs', used_wasted_ms) as used`;

/** The parameters of `endAssignments`. */
export function endParameters({ result, code, units }: EndOfAttempt): readonly unknown[] {
  const ran = units ?? [];
  return [result, code ?? null, ran.length === 0 ? null : toJson(workOf(ran)), toJson(usedTimeOf(ran))];
}
