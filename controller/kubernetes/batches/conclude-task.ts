import { exitCodes } from '#domain/exit-codes.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { EndedTask } from '#domain/runner/batch.ts';
import {
  type AttemptResult,
  concludeAttempt,
  countAttempt,
  enqueueNextAttempt,
  resultOf,
} from '#jobs/conclude-attempt.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';
import type { MediaJobDependencies } from '../dependencies.ts';

/** How the attempt ended whose task a runner reports. */
export function endOfTask({ exit_code: exitCode, error, attempt }: EndedTask): AttemptEnd {
  if (exitCode === exitCodes.done) return { kind: 'done' };
  if (exitCode === exitCodes.stopped) return { kind: 'disrupted' };
  return { kind: 'failed', exitCode, error: error === null ? null : { ...error, attempt } };
}

/**
 * Does what follows from the end of a batch's task, as after the end of any attempt; the next attempt has a ticket.
 * Can be repeated. Null: the job has ended otherwise, or is at another attempt.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export async function concludeTask(
  { id, attempt }: { readonly id: string; readonly attempt: number },
  end: AttemptEnd,
  dependencies: MediaJobDependencies,
): Promise<AttemptResult | null> {
  const { jobs, metrics, clock } = dependencies;
  const job = await jobs.find(id);
  if (job === null || isFinal(job.status) || job.attempt !== attempt) return null;
  const attributes = { 'job.id': id, 'job.type': job.type, 'job.attempt': attempt };
  const conclude = () => concludeAttempt({ job, end, mayHaveCompleted: true }, dependencies);
  const span = { parent: job.trace, kind: 'consumer' as const, attributes, startedAt: job.startedAt };
  const conclusion = await withSpan('attempt', span, () => withSpan('completion', {}, conclude));
  if (conclusion.kind === 'not_current') return null;
  const result = resultOf(conclusion);
  const { startedAt } = job;
  const seconds = startedAt === null ? null : (clock().getTime() - startedAt.getTime()) / 1000;
  countAttempt(metrics, { type: job.type, result, seconds });
  if (conclusion.kind === 'again') await enqueueNextAttempt(conclusion, dependencies);
  return result;
}
