import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, requireChoices } from '#domain/keys/api-key.ts';
import type { JobDependencies } from '../dependencies.ts';
import { poolOfQueue, type QueueName, queueNames } from '#domain/jobs/routing.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { DescriptionChange } from '#domain/media/description.ts';
import { type JobType, jobTypes } from '#domain/job-types/index.ts';
import type { KeyQuotas } from '#domain/keys/quotas.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import {
  type MissingProfile,
  type Preflight,
  type PreflightDependencies,
  byProfile,
  profileNamed,
} from './preflight.ts';

/**
 * The choices of a job beside the four fields that make submissions equal: by the spec of a MediaJob, or by the
 * headers of a request.
 */
export interface Choices extends DescriptionChange {
  /** By default the one that the rules choose. */
  readonly profile?: string | undefined;
  /** A RunnerPool; by default, and for null, the one that the profile names, else the one of its queue. */
  readonly pool?: string | null | undefined;
  /** Whether an unknown pool is refused, as for callers; a job that an operator gives one waits for it. */
  readonly refusesUnknownPool?: boolean;
  /** -1000 to 1000; by default 0. */
  readonly priority?: number | undefined;
  /** The API key of the request. */
  readonly keyId?: string | undefined;
  /** The quotas of that key. */
  readonly quotas?: KeyQuotas | null | undefined;
  /** Whether the media has the title and metadata only where nobody has said any, as by a rule of events. */
  readonly isDefaultDescription?: boolean;
}

/** Choices whose profile exists. */
export interface Chosen extends Omit<Choices, 'profile'> {
  /** Null: none is named. */
  readonly named: NamedProfile | null;
}

/** Finds the profile that is named, of those that there are now. */
export async function findChosen(
  { profile, ...others }: Choices,
  dependencies: Pick<PreflightDependencies, 'profiles' | 'config'>,
): Promise<Chosen | MissingProfile> {
  const named = profile === undefined ? null : await profileNamed(profile, dependencies);
  return named !== null && 'knownProfiles' in named ? named : { ...others, named };
}

/**
 * The choices of a job that has ended, for the one that makes it again. Where its profile does not exist any more, the
 * rules choose.
 */
export async function choicesOf(
  { type, profile, pool, priority }: Job,
  measured: Preflight,
  dependencies: Pick<PreflightDependencies, 'profiles' | 'config'>,
): Promise<Chosen> {
  const others = { pool, priority };
  if (!jobTypes[type].makesStream) return { ...others, named: null };
  const chosen = await findChosen({ ...others, profile: profile?.name ?? 'default' }, dependencies);
  return 'knownProfiles' in chosen ? { ...others, named: measured.profile } : chosen;
}

/** How a job of `type` is run and encoded: what was measured of its source, and what was chosen. */
export function chosenFields(
  type: JobType,
  measured: Preflight,
  { named, pool, priority }: Chosen,
): Preflight & Pick<Job, 'pool' | 'priority'> {
  const { profile, pool: ofProfile } = named === null ? measured : byProfile(type, named);
  const chosenPool = pool ?? ofProfile;
  return { ...measured, profile, queue: queueFor(chosenPool, measured), pool: chosenPool, priority: priority ?? 0 };
}

/**
 * Refuses to make a job again with what the API key of the request may not choose itself: a key does not gain the
 * profile or the priority that another one gave the job.
 *
 * @param key null where no key asks
 * @throws KnownProblem `forbidden`
 */
export function requireKeptChoices(
  key: ApiKey | null,
  type: JobType,
  { profile, priority }: Pick<Job, 'profile' | 'priority'>,
): void {
  if (key === null) return;
  requireChoices(key, { priority, ...(jobTypes[type].makesStream ? { profile: profile?.name ?? 'default' } : {}) });
}

/** Refuses a pool that a caller names and the cluster does not have. @throws KnownProblem `invalid_request` */
export async function refuseUnknownPool(
  { pool, refusesUnknownPool }: Choices,
  { pools }: Pick<JobDependencies, 'pools'>,
): Promise<void> {
  if (refusesUnknownPool !== true || pool === undefined || pool === null) return;
  const known = [...new Set([...Object.values(poolOfQueue), ...(await pools.read()).known])];
  if (known.includes(pool)) return;
  const detail = `names no pool: there is no RunnerPool ${pool}; there are ${known.join(', ')}`;
  throw new KnownProblem('invalid_request', undefined, {
    faults: [{ pointer: '/X-Pool', code: 'unknown_pool', detail }],
  });
}

/** The queue that a pool serves; for no pool, and for one that serves none, the queue of the measured size. */
function queueFor(pool: string | null, { queue: measured }: Pick<Preflight, 'queue'>): QueueName {
  return queueNames.find((queue) => poolOfQueue[queue] === pool) ?? measured;
}
