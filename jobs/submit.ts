import { KnownProblem } from '#domain/errors.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import type { JobDependencies } from './dependencies.ts';
import { enqueue } from './enqueue.ts';
import { type Preflight, preflight, type PreflightDependencies } from './preflight.ts';

type SubmitDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'randomUuid'> & PreflightDependencies;

/**
 * Accepts a job: first its row, then its ticket.
 *
 * The row is the acceptance. A crash, or a queue that refuses, between the two leaves a `queued` row without a ticket,
 * and the caller gets 500. The sweeper adds the missing ticket, and so does an equal submission before it answers;
 * equal tickets have one id. Deleting the row instead would race with equal submissions that were answered with it.
 */
export async function submitJob(
  dependencies: SubmitDependencies,
  submission: Submission,
  trace: TraceContext | null,
): Promise<{ job: Job; isNew: boolean }> {
  const found = await preflightOrEqual(dependencies, submission);
  const outcome = 'job' in found ? found : await insert(dependencies, submission, { trace, found });
  if (outcome.job.status === 'queued') await enqueueOrExplain(dependencies, outcome.job);
  return outcome;
}

/** An equal job answers even when its source was deleted, is too large now, or cannot be read (C11.30). */
async function preflightOrEqual(
  dependencies: SubmitDependencies,
  submission: Submission,
): Promise<Preflight | { job: Job; isNew: false }> {
  try {
    return await preflight(dependencies, submission);
  } catch (error) {
    const job = await dependencies.jobs.findLive(idempotencyKey(submission));
    if (job !== null) return { job, isNew: false };
    throw error;
  }
}

function insert(
  dependencies: SubmitDependencies,
  { type, hash, source, options, callbackUrl }: Submission,
  { trace, found }: { trace: TraceContext | null; found: Preflight },
): Promise<{ job: Job; isNew: boolean }> {
  return dependencies.jobs.insertOrFind({
    id: dependencies.randomUuid(),
    type,
    hash,
    source,
    options,
    idempotencyKey: idempotencyKey({ type, hash, source, options }),
    ...found,
    callbackUrl,
    retryOfJobId: null,
    trace,
  });
}

/** @throws KnownProblem `internal_error` when the queue refuses */
async function enqueueOrExplain(dependencies: Pick<JobDependencies, 'queue'>, job: Job): Promise<void> {
  try {
    await enqueue(dependencies, job);
  } catch (cause) {
    const detail = 'The job is recorded but could not be queued yet. It will be; the same request again is safe.';
    throw new KnownProblem('internal_error', detail, { cause });
  }
}
