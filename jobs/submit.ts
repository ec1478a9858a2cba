import { KnownProblem } from '#domain/errors.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import type { JobQueries } from '#platform/postgres/job-queries.ts';
import type { JobDependencies } from './dependencies.ts';
import { type Preflight, preflight } from './preflight.ts';

type SubmitDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'source' | 'config' | 'randomUuid'> & {
  readonly queries: JobQueries;
};

/**
 * Accepts a job: first its row, then its ticket.
 *
 * The row is the acceptance. A crash, or a queue that refuses, between the two leaves a `queued` row without a ticket;
 * the caller is answered 500 and nothing is half done, because both ways on end in the same one job: the sweeper adds
 * the missing ticket, and an equal submission finds the row and adds its ticket again before it answers. (A ticket
 * that is there already stays one ticket, by its id.) Taking the row back instead would race with the equal
 * submissions that have already been answered with it.
 */
export async function submitJob(
  d: SubmitDependencies,
  submission: Submission,
  trace: TraceContext | null,
): Promise<{ job: Job; isNew: boolean }> {
  const key = idempotencyKey(submission);
  const found = await preflightOrEqual(d, submission, key);
  const outcome = 'job' in found ? found : await insert(d, submission, { key, trace, found });
  if (outcome.job.status === 'queued') await addTicket(d, outcome.job);
  return outcome;
}

/** An equal job answers also when its source has gone since (section 3: the condition is the request alone). */
async function preflightOrEqual(
  d: SubmitDependencies,
  submission: Submission,
  key: string,
): Promise<Preflight | { job: Job; isNew: false }> {
  try {
    return await preflight(d, submission);
  } catch (error) {
    const job = await d.queries.findLive(key);
    if (job === null) throw error;
    return { job, isNew: false };
  }
}

function insert(
  d: SubmitDependencies,
  { type, hash, source, options, callbackUrl }: Submission,
  { key, trace, found }: { key: string; trace: TraceContext | null; found: Preflight },
): Promise<{ job: Job; isNew: boolean }> {
  return d.jobs.insertOrFind({
    id: d.randomUuid(),
    type,
    hash,
    source,
    options,
    idempotencyKey: key,
    ...found,
    callbackUrl,
    retryOfJobId: null,
    trace,
  });
}

/** Puts a queued job's ticket into its queue. @throws KnownProblem `internal_error` when the queue refuses */
export async function addTicket({ queue }: Pick<JobDependencies, 'queue'>, job: Job): Promise<void> {
  const trace = job.trace === null ? {} : { trace: job.trace };
  try {
    await queue.add({ jobId: job.id, attempt: job.attempt, queue: job.queue, ...trace });
  } catch (cause) {
    const detail = 'The job is recorded but could not be queued yet. It will be; the same request again is safe.';
    throw new KnownProblem('internal_error', detail, { cause });
  }
}
