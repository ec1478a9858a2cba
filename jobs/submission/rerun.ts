import { KnownProblem } from '#domain/errors.ts';
import { idempotencyKey, rerunKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import { chosenFields } from './choices.ts';
import type { JobDependencies } from '../dependencies.ts';
import { enqueueOrLeave } from './enqueue.ts';
import { preflightAgain, type PreflightDependencies, profileNamed, unknownProfile } from './preflight.ts';

type RerunDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'randomUuid' | 'log'> & PreflightDependencies;

/** How a job is to be made again. */
export interface Rerun {
  /** For people; at most 200 characters. */
  readonly reason?: string | undefined;
  /** The profile of its stream, by name or itself; by default what the rules of today choose. */
  readonly profile?: string | NamedProfile | undefined;
  /** By default 0. */
  readonly priority?: number;
  /** The id of the new job; by default a random one. */
  readonly id?: string;
}

/**
 * Makes a job that has completed or failed again: its source is measured again, and the new job writes a revision of
 * its own. The earlier job keeps its results and answers equal submissions until the rerun has completed, which answers
 * them from then on (`takeKeyOfRerun`).
 *
 * The row is the acceptance, as of a submission: a crash before it leaves nothing, and one after it a queued row whose
 * ticket the sweeper adds. Equal reruns find the active one by its key, so repeating the request makes no second job.
 *
 * @throws KnownProblem `not_found`, `conflict`; `invalid_request` for a profile that does not exist; `not_retryable`
 * for a source that cannot be processed any more
 */
export async function rerunJob(
  dependencies: RerunDependencies,
  jobId: string,
  { rerun, trace }: { readonly rerun: Rerun; readonly trace: TraceContext | null },
): Promise<{ job: Job; isNew: boolean }> {
  const earlier = await dependencies.jobs.find(jobId);
  if (earlier === null) throw new KnownProblem('not_found', 'There is no such job.');
  if (!isFinal(earlier.status))
    throw new KnownProblem('conflict', `The job is ${earlier.status}; it can be made again once it has ended.`);
  if (earlier.status === 'cancelled')
    throw new KnownProblem('conflict', 'The job was cancelled and made nothing; submit it again.');
  const { profile } = rerun;
  const named = typeof profile === 'string' ? await profileOrRefusal(profile, dependencies) : (profile ?? null);
  const measured = await preflightAgain(dependencies, earlier);
  const { type, hash, source, options, pool, callbackUrl } = earlier;
  const outcome = await dependencies.jobs.insertOrFind({
    id: rerun.id ?? dependencies.randomUuid(),
    type,
    hash,
    source,
    options,
    idempotencyKey: rerunKey(idempotencyKey({ type, hash, source, options })),
    ...chosenFields(type, measured, { named, pool, priority: rerun.priority }),
    callbackUrl,
    retryOfJobId: null,
    rerunOfJobId: earlier.id,
    rerunReason: rerun.reason ?? null,
    trace,
  });
  if (outcome.job.status === 'queued') await enqueueOrLeave(dependencies, outcome.job);
  return outcome;
}

/**
 * The profile of a name, of those that there are now.
 *
 * @param pointer the field that names it
 * @throws KnownProblem `invalid_request`, with the profiles that there are
 */
export async function profileOrRefusal(
  name: string,
  dependencies: Pick<PreflightDependencies, 'profiles' | 'config'>,
  pointer = '/profile',
): Promise<NamedProfile> {
  const found = await profileNamed(name, dependencies);
  if ('knownProfiles' in found) throw unknownProfile(found, pointer);
  return found;
}
