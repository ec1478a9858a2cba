import { KnownProblem } from '#domain/errors.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import type { JobQueries } from '#platform/postgres/job-queries.ts';
import type { JobDependencies } from './dependencies.ts';
import { enqueue } from './enqueue.ts';
import { currentProfiles, type Preflight, preflight, type PreflightDependencies, profileFor } from './preflight.ts';

type SubmitDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'randomUuid'> &
  PreflightDependencies & {
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
  dependencies: SubmitDependencies,
  submission: Submission,
  trace: TraceContext | null,
): Promise<{ job: Job; isNew: boolean }> {
  const found = await preflightOrEqual(dependencies, submission);
  const outcome = 'job' in found ? found : await insert(dependencies, submission, { trace, found });
  if (outcome.job.status === 'queued') await enqueueOrExplain(dependencies, outcome.job);
  return outcome;
}

/** An equal job answers also when its source no longer exists: the request alone decides (docs/contract.md, section 3). */
async function preflightOrEqual(
  dependencies: SubmitDependencies,
  submission: Submission,
): Promise<Preflight | { job: Job; isNew: false }> {
  try {
    return await preflight(dependencies, submission);
  } catch (error) {
    // Without its size the source's profile is unknown: any of those that a rule names may be that of the equal job.
    const { byName, rules } = await currentProfiles(dependencies);
    for (const name of new Set(['default', ...rules.map(({ profile }) => profile)])) {
      const profile = profileFor(submission.type, byName.get(name) ?? null);
      const job = await dependencies.queries.findLive(idempotencyKey({ ...submission, profile }));
      if (job !== null) return { job, isNew: false };
    }
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
    idempotencyKey: idempotencyKey({ type, hash, source, options, profile: found.profile }),
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
