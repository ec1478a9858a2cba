import { exitCodes } from '#domain/exit-codes.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { EndedTask } from '#domain/work/batch-tasks.ts';
import type { StepRun, UnitRun } from '#domain/work/unit-run.ts';
import { concludeAttempt, type ConclusionDependencies } from '#jobs/completion/conclude-attempt.ts';
import { endAttempt } from '#jobs/completion/end-attempt.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';

/** The ports that the end of a batch's task needs. */
export interface ConcludeTaskPorts extends ConclusionDependencies {
  readonly jobs: ConclusionDependencies['jobs'] & Pick<JobStore, 'find'>;
}

/** How the attempt ended whose task a runner reports. */
export function endOfTask({ exit_code: exitCode, error, attempt }: EndedTask): AttemptEnd {
  if (exitCode === exitCodes.done) return { kind: 'done' };
  if (exitCode === exitCodes.stopped) return { kind: 'disrupted' };
  return { kind: 'failed', exitCode, error: error === null ? null : { ...error, attempt } };
}

/**
 * Does what follows from the end of a batch's task, as after the end of any attempt; the next attempt has a ticket.
 * Can be repeated. Nothing happens when the job has ended otherwise, or is at another attempt.
 *
 * @throws KnownProblem `storage_error`, or an error of the database: try again
 */
export async function concludeTask(
  {
    id,
    attempt,
    steps = [],
  }: { readonly id: string; readonly attempt: number; readonly steps?: StepRun[] | undefined },
  end: AttemptEnd,
  dependencies: ConcludeTaskPorts,
): Promise<void> {
  const job = await dependencies.jobs.find(id);
  if (job === null || isFinal(job.status) || job.attempt !== attempt) return;
  const units: UnitRun[] = steps.length === 0 ? [] : [{ unit: 'image', chunk: null, pod: null, steps }];
  await endAttempt(
    {
      job,
      begunAt: job.startedAt,
      run: () => Promise.resolve(end),
      conclude: () => concludeAttempt({ job, end, units, mayHaveCompleted: true }, dependencies),
    },
    dependencies,
  );
}
