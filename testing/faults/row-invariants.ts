import { isFinal, type JobStatus } from '#domain/jobs/status.ts';
import type { RowChange } from './history.ts';
import { brokenSource } from './sources.ts';
import type { Facts } from './world.ts';

// What holds of rows and of their changes (docs/reference/invariants.md).

export interface CheckedJob {
  readonly id: string;
  readonly type: string;
  readonly hash: string;
  readonly source: string;
  readonly source_etag: string | null;
  readonly status: JobStatus;
  readonly attempt: number;
  readonly failures: number;
  readonly error: { readonly code: string; readonly retryable?: boolean } | null;
  readonly results: unknown;
  readonly results_text: string | null;
  readonly is_expired: boolean;
  readonly is_swept: boolean;
  readonly stream_rev: string | null;
  readonly callback_url: string | null;
  readonly encrypted: boolean;
}

/**
 * One fault is no reason to fail: only a source that cannot be read, or that was replaced, is. `triesMax` counted
 * failures are another, where so many faults happen that a job may meet them all.
 */
export function failureOf({ id, source, status, error, failures }: CheckedJob, triesMax: number): string[] {
  const isOfSource = source === brokenSource || error?.code === 'source_changed';
  const isUsedUp = failures + 1 >= triesMax && error?.code !== 'internal';
  return status === 'failed' && !isOfSource && !isUsedUp
    ? [`I2: the job ${id} failed: ${JSON.stringify(error)} after ${failures} failures`]
    : [];
}

/** The violations in the changes of one job. */
export function changesOf(changes: readonly RowChange[]): string[] {
  const violations = changes.flatMap((change) => [...changedEnds(change), ...progressOf(change), ...writerOf(change)]);
  const last = changes.findLast(({ new_status: status }) => status !== null)?.new_status;
  if (last === undefined || last === null || !isFinal(last as JobStatus)) violations.push(`I2: a job ended as ${last}`);
  return violations;
}

function changedEnds({ job_id: id, ...change }: RowChange): string[] {
  const { old_status: before, new_status: after, old_results: results } = change;
  if (before === null || after === null || !isFinal(before as JobStatus)) return [];
  if (after !== before) return [`I1: the job ${id} went from ${before} to ${after}`];
  return results === change.new_results ? [] : [`I1: the results of the ${before} job ${id} have changed`];
}

function progressOf({ job_id: id, old_progress: before, new_progress: after, ...change }: RowChange): string[] {
  const isSameAttempt = change.old_attempt === change.new_attempt;
  if (!isSameAttempt || (after ?? 0) >= (before ?? 0)) return [];
  return [`I8: the progress of ${id} fell from ${before} to ${after}`];
}

/** Lease owners are `HOST:PID:…`. A cancellation comes from a caller. */
function writerOf({ job_id: id, owner, is_held: isHeld, writer, ...change }: RowChange): string[] {
  const isCancelled = change.new_status === 'cancelled' || change.new_status === null;
  if (owner === null || !isHeld || isCancelled || !writer.startsWith('worker:')) return [];
  const [, pid] = writer.split(':');
  const same = ['attempt', 'status', 'progress', 'failures'].every(
    (name) => change[`old_${name}` as keyof typeof change] === change[`new_${name}` as keyof typeof change],
  );
  if (same || owner.split(':').at(-2) === pid) return [];
  return [`I13: ${writer} wrote the attempt ${change.old_attempt} of ${id}, which ${owner} holds`];
}

/** After this time an outage has been noticed, and a probe that found none has ended. */
const noticedMs = 3_000;

/** An attempt that ends while the storage is away costs no try, unless it ended for want of disk or memory. */
export function outagesOf(changes: readonly RowChange[], { outages }: Facts): string[] {
  const whole = outages.filter(({ isWhole }) => isWhole);
  return changes
    .filter(({ old_failures: before, new_failures: after }) => (after ?? 0) > (before ?? 0))
    .filter(({ last_code: code }) => code !== 'resource_exhausted')
    .filter(({ at }) => whole.some(({ from, to }) => at.getTime() > from + noticedMs && at.getTime() < to))
    .map(({ job_id: id, at, ...end }) => `I23: ${end.last_code} cost the job ${id} a try at ${at.toISOString()}`);
}

/** A reason is true when it was so within this time. */
const trueMs = 30_000;

/** Every wait has a reason, and a reason is true. */
export function waitsOf({ waits, outages }: Facts): string[] {
  const violations = waits.flatMap(({ at, id, code, message }) => {
    if (code === 'storage_outage' && !outages.some(({ from, to }) => from < at && to > at - trueMs))
      return [`I21: ${id} waits for the storage, which is there`];
    const until = code === 'next_attempt_later' ? Date.parse(/\d{4}-\S+Z/.exec(message)?.[0] ?? '') : at;
    return until >= at - trueMs ? [] : [`I21: ${id} waits for a time that has passed: ${message}`];
  });
  // A worker is about to take it, or its reason is unknown: not for long.
  for (const [id, samples] of Map.groupBy(waits, (wait) => wait.id)) {
    let since: number | null = null;
    for (const { at, code } of samples) {
      if (code !== null && code !== 'next_in_queue') since = null;
      else since ??= at;
      if (since === null || at - since <= trueMs) continue;
      violations.push(`I21: ${id} waits for ${Math.round((at - since) / 1000)} s, and says only ${code}`);
      break;
    }
  }
  return [...new Set(violations)];
}

/** Results are of the version of the source that the row names. */
export function sourceOf({ id, source_etag: etag, results }: CheckedJob, { sources }: Facts): string[] {
  const shownSec = (results as { readonly source?: { readonly duration_sec?: number } } | null)?.source?.duration_sec;
  const version = sources.get(etag ?? '');
  if (shownSec === undefined || version === undefined || Math.abs(shownSec - version.durationSec) < 0.3) return [];
  return [`I24: the results of ${id} are of ${shownSec} s, and the source of its row has ${version.durationSec} s`];
}
