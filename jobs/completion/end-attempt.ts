import type { JobErrorCode } from '#domain/errors.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';
import type { Conclusion, ConclusionDependencies } from './conclude-attempt.ts';

/** An attempt that runs, or whose end was observed. */
interface AttemptToEnd {
  readonly job: Job;
  /** When it began; null: it never did. */
  readonly begunAt: Date | null;
  /** Its work, in the span of the attempt. */
  readonly run: (trace: TraceContext) => Promise<AttemptEnd>;
  readonly conclude: (end: AttemptEnd) => Promise<Conclusion>;
  /** Claims the next attempt where it need not wait; whether it did. By default it is queued. */
  readonly claimNext?: (ticket: Ticket) => Promise<boolean>;
}

/** How an attempt ended. `next`: of the next attempt; null when the job has none. */
export interface EndedAttempt {
  readonly result: AttemptResult;
  readonly next: 'claimed' | 'queued' | null;
  readonly code: JobErrorCode | undefined;
}

type EndDependencies = Pick<ConclusionDependencies, 'clock' | 'log' | 'metrics' | 'queue'>;

/**
 * The end of every attempt, whoever ran it: its conclusion in a span of the attempt, a count, and the next attempt
 * claimed or queued. What is observed twice is concluded twice: the second time nothing is recorded or counted.
 *
 * @throws whatever `run` and `conclude` throw
 */
export async function endAttempt(
  { job, begunAt, run, conclude, claimNext }: AttemptToEnd,
  dependencies: EndDependencies,
): Promise<EndedAttempt> {
  const attributes = { 'job.id': job.id, 'job.type': job.type, 'job.attempt': job.attempt };
  const settings = { parent: job.trace, kind: 'consumer' as const, attributes, startedAt: begunAt };
  const conclusion = await withSpan('attempt', settings, async (span) => {
    const end = await run(span.trace);
    const concluded = await withSpan('completion', {}, () => conclude(end));
    span.setAttributes({ 'job.result': resultOf(concluded) });
    return concluded;
  });
  const result = resultOf(conclusion);
  if (conclusion.kind !== 'not_current') countAttempt({ job, begunAt, result }, dependencies);
  if (conclusion.kind === 'ended') return { result, next: null, code: conclusion.job.error?.code };
  if (conclusion.kind !== 'again') return { result, next: null, code: undefined };
  const { ticket, delayMs, code } = conclusion;
  if (delayMs === 0 && (await claimNext?.(ticket)) === true) return { result, next: 'claimed', code };
  // One that the queue does not take now is added by the sweeper.
  await dependencies.queue
    .add(ticket, { delayMs })
    .catch((err: unknown) => dependencies.log.warn({ err, job_id: job.id }, 'ticket not added, the sweeper adds it'));
  return { result, next: 'queued', code };
}

/** The result of an attempt, as the label `result` of `svc_worker_tasks_total` names it. */
export type AttemptResult = 'completed' | 'failed' | 'retried' | 'disrupted' | 'lost' | 'cancelled' | 'bug';

function resultOf(conclusion: Conclusion): AttemptResult {
  if (conclusion.kind === 'unrecorded') return conclusion.result;
  if (conclusion.kind === 'not_current') return 'lost';
  if (conclusion.kind === 'again') return conclusion.countsAsFailure ? 'retried' : 'disrupted';
  return conclusion.job.status === 'completed' ? 'completed' : 'failed';
}

/** Counts an attempt, and the time since it began. */
export function countAttempt(
  { job, begunAt, result }: Pick<AttemptToEnd, 'begunAt'> & { job: Pick<Job, 'type'>; result: AttemptResult },
  { metrics, clock }: { readonly metrics: Pick<Metrics, 'workerTasks' | 'workerTaskDuration'>; clock: () => Date },
): void {
  const labels = { type: job.type, result };
  metrics.workerTasks.inc(labels);
  // The two times may be of two clocks, so the difference may be negative.
  const seconds = begunAt === null ? null : (clock().getTime() - begunAt.getTime()) / 1000;
  if (seconds !== null) metrics.workerTaskDuration.observe(labels, Math.max(0, seconds));
}
