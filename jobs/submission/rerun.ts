import { KnownProblem } from '#domain/errors.ts';
import type { ApiKey } from '#domain/keys/api-key.ts';
import { idempotencyKey, rerunKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { KeyQuotas } from '#domain/keys/quotas.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import { rolloutPriority } from '#domain/jobs/ticket.ts';
import { choicesOf, chosenFields, requireKeptChoices } from './choices.ts';
import type { JobDependencies } from '../dependencies.ts';
import { enqueueOrLeave } from './enqueue.ts';
import { preflightAgain, type PreflightDependencies, profileNamed, unknownProfile } from './preflight.ts';

type RerunDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'randomUuid' | 'log'> & PreflightDependencies;

/** How a job is to be made again. */
export interface Rerun {
  /** For people; at most 200 characters. */
  readonly reason?: string | undefined;
  /** The profile of its stream, by name or itself; by default the profile of the earlier job, as it is now. */
  readonly profile?: string | NamedProfile | undefined;
  /** The RunnerPool; by default the one that a named profile names, else the one of the earlier job. */
  readonly pool?: string | null | undefined;
  /** By default the priority of the earlier job. */
  readonly priority?: number | undefined;
  /** The API key of the request, whose bounds and quotas hold for what the earlier job had too. */
  readonly key?: ApiKey | null;
  /** The id of the key alone, where its bounds were looked at before. */
  readonly keyId?: string | undefined;
  /** The quotas of that key. */
  readonly quotas?: KeyQuotas | null | undefined;
  /** The id of the new job; by default a random one. */
  readonly id?: string;
  /** The job whose stream alone it may replace; by default whatever is played and not newer. */
  readonly replaces?: string;
}

interface RerunRequest {
  readonly rerun: Rerun;
  readonly trace: TraceContext | null;
}

/**
 * Makes a job again for a caller: see `makeRerun`. Equal reruns at once make one job, and one by another profile is
 * refused while that job is active.
 *
 * @throws KnownProblem `conflict` for a rerun that is under way by another profile; what `makeRerun` throws
 */
export async function rerunJob(
  dependencies: RerunDependencies,
  jobId: string,
  { rerun, trace }: RerunRequest,
): Promise<{ job: Job; isNew: boolean }> {
  const { job, isNew, profile } = await makeRerun(dependencies, jobId, { rerun, trace });
  const underWay = profileNameOf(job.profile);
  if (isNew || underWay === profileNameOf(profile)) return { job, isNew };
  const advice = 'cancel it, or ask again once it has ended';
  throw new KnownProblem('conflict', `The rerun ${job.id} is under way by the profile ${underWay}; ${advice}.`);
}

const profileNameOf = (profile: NamedProfile | null) => profile?.name ?? 'default';

/**
 * Makes a job that has completed or failed again: its source is measured again, and the new job writes a revision of
 * its own. It is no new intent, so its stream is played only where no stream is played that was asked for after the
 * earlier job (migration 0153). The earlier job keeps its results and answers equal submissions until the rerun has
 * completed, which answers them from then on (`settleKeyOfCompleted`).
 *
 * The row is the acceptance, as of a submission: a crash before it leaves nothing, and one after it a queued row whose
 * ticket the sweeper adds. Equal reruns find the active one by its key, so repeating the request makes no second job.
 *
 * @returns the new job, or the equal rerun that is active, and the profile that was asked for
 * @throws KnownProblem `not_found`, `conflict`; `invalid_request` for a profile that does not exist; `not_retryable`
 * for a source that cannot be processed any more; `forbidden` for a profile or priority that the key may not choose
 */
export async function makeRerun(
  dependencies: RerunDependencies,
  jobId: string,
  { rerun, trace }: RerunRequest,
): Promise<{ job: Job; isNew: boolean; profile: NamedProfile | null }> {
  const earlier = await dependencies.jobs.find(jobId);
  if (earlier === null) throw new KnownProblem('not_found', 'There is no such job.');
  if (!isFinal(earlier.status))
    throw new KnownProblem('conflict', `The job is ${earlier.status}; it can be made again once it has ended.`);
  if (earlier.status === 'cancelled')
    throw new KnownProblem('conflict', 'The job was cancelled and made nothing; submit it again.');
  const { profile } = rerun;
  const named = typeof profile === 'string' ? await profileOrRefusal(profile, dependencies) : profile;
  const measured = await preflightAgain(dependencies, earlier);
  const given = await choicesOf(earlier, measured, dependencies);
  const chosen = chosenFields(earlier.type, measured, {
    named: named ?? given.named,
    pool: rerun.pool ?? named?.pool ?? given.pool,
    priority: rerun.priority ?? priorityOf(earlier),
  });
  const { key = null } = rerun;
  requireKeptChoices(key, earlier.type, chosen);
  const { type, hash, source, options, callbackUrl, title, metadata } = earlier;
  const outcome = await dependencies.jobs.insertOrFind({
    id: rerun.id ?? dependencies.randomUuid(),
    keyId: key?.id ?? rerun.keyId ?? null,
    quotas: key?.quotas ?? rerun.quotas ?? null,
    type,
    hash,
    source,
    options,
    idempotencyKey: rerunKey(idempotencyKey({ type, hash, source, options })),
    ...chosen,
    callbackUrl,
    retryOfJobId: null,
    rerunOfJobId: earlier.id,
    rerunReason: rerun.reason ?? null,
    title,
    metadata,
    ...(rerun.replaces === undefined ? {} : { replaces: rerun.replaces }),
    trace,
  });
  if (outcome.job.status === 'queued') await enqueueOrLeave(dependencies, outcome.job);
  return { ...outcome, profile: chosen.profile };
}

/** The priority of a rerun: what a rollout made again does not stay behind everything else for good. */
function priorityOf({ priority, rerunOfJobId }: Job): number {
  return rerunOfJobId !== null && priority === rolloutPriority ? 0 : priority;
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
