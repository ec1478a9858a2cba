import { KnownProblem } from '#domain/errors.ts';
import { type JobType, jobTypes } from '#domain/job-types/index.ts';
import { type QueueName, queueOfSize } from '#domain/jobs/routing.ts';
import { containerOf } from '#domain/media/containers.ts';
import { withClusterProfiles } from '#domain/media/cluster-profiles.ts';
import { chooseProfile, type MediaProfiles, type NamedProfile, profileDigest } from '#domain/media/profiles.ts';
import { isNamedAsImage } from '#domain/media/image-names.ts';
import { imageKindOf } from '#platform/images/image-kinds.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { JobDependencies } from '../dependencies.ts';

/** The facts of a job's source before the job is accepted; sizes in bytes, null for types without a preflight. */
export interface Preflight {
  readonly queue: QueueName;
  readonly sourceSizeBytes: number | null;
  readonly sourceEtag: string | null;
  /** Null: the built-in profile `default`, or the type makes no stream. */
  readonly profile: NamedProfile | null;
  /** The RunnerPool that the profile names. */
  readonly pool: string | null;
}

/** The dependencies of a preflight. */
export type PreflightDependencies = Pick<JobDependencies, 'source' | 'config' | 'profiles'>;

/**
 * Looks at a source before its job is accepted (docs/reference/contract.md, "The source"). A video must be there, its
 * measured size must not exceed `MAX_FILE_SIZE`; size chooses the queue and, with the key, the profile. An image may
 * still be missing. One whose key does not end as that of an image is read: nothing in it, or a video, is refused.
 *
 * @throws KnownProblem `source_missing`, `source_too_large`, `invalid_request`
 */
export async function preflight(
  dependencies: PreflightDependencies,
  job: { type: JobType; source: string },
): Promise<Preflight> {
  const { source, config } = dependencies;
  const { preflight: look, makesStream } = jobTypes[job.type];
  if (look !== 'video') {
    // Its name is believed: reading each image would cost a third of its submission.
    if (look === 'image' && !isNamedAsImage(job.source)) await refuseNoImage(source, job.source);
    return { queue: 'default', sourceSizeBytes: null, sourceEtag: null, profile: null, pool: null };
  }
  const [info, profiles] = await Promise.all([
    source.head(job.source),
    makesStream ? currentProfiles(dependencies) : null,
  ]);
  if (info === null) throw refusal('source_missing', missingSource(job.source));
  if (info.sizeBytes === 0) throw emptySource;
  if (info.sizeBytes > config.maxFileSizeBytes)
    throw refusal('source_too_large', `is ${info.sizeBytes} bytes; at most ${config.maxFileSizeBytes} are accepted`);
  return {
    queue: queueOfSize(info.sizeBytes, config.largeVideoThresholdBytes),
    sourceSizeBytes: info.sizeBytes,
    sourceEtag: info.etag,
    ...byProfile(
      job.type,
      profiles === null ? null : chooseProfile(profiles, { key: job.source, sizeBytes: info.sizeBytes }),
    ),
  };
}

/** The profiles of the configuration and of the cluster, as they are now. */
export async function currentProfiles({
  profiles,
  config,
}: Pick<JobDependencies, 'profiles' | 'config'>): Promise<MediaProfiles> {
  return withClusterProfiles(config.mediaProfiles, await profiles.read());
}

/** The profile and pool of a job of `type`: none where it makes no stream, and no profile that changes nothing. */
export function byProfile(type: JobType, profile: NamedProfile | null): Pick<Preflight, 'profile' | 'pool'> {
  if (profile === null || !jobTypes[type].makesStream) return { profile: null, pool: null };
  return { profile: profileDigest(profile) === null ? null : profile, pool: profile.pool ?? null };
}

/** The profile that a name is asked for does not exist; these do. */
export interface MissingProfile {
  readonly knownProfiles: readonly string[];
}

/** The profile of a name, of those that there are now. */
export async function profileNamed(
  name: string,
  dependencies: Pick<JobDependencies, 'profiles' | 'config'>,
): Promise<NamedProfile | MissingProfile> {
  const { byName } = await currentProfiles(dependencies);
  return byName.get(name) ?? { knownProfiles: [...byName.keys()] };
}

/** The refusal of a name that no profile has. @param pointer the field that names it */
export function unknownProfile({ knownProfiles }: MissingProfile, pointer: string): KnownProblem<'invalid_request'> {
  const detail = `names no profile; there are ${knownProfiles.join(', ')}`;
  return new KnownProblem('invalid_request', undefined, {
    faults: [{ pointer, code: 'unknown_profile', detail }],
  });
}

/**
 * The preflight of a job that has ended: its source may have been uploaded again since, so it is measured again.
 *
 * @throws KnownProblem `not_retryable` for a source that no longer passes
 */
export async function preflightAgain(
  dependencies: PreflightDependencies,
  ended: { readonly type: JobType; readonly source: string },
): Promise<Preflight> {
  try {
    return await preflight(dependencies, ended);
  } catch (error) {
    if (!(error instanceof KnownProblem) || error.details.faults === undefined) throw error;
    const details = error.details.faults.map(({ detail }) => detail);
    throw new KnownProblem('not_retryable', `The source ${details.join('; ')}.`, { cause: error });
  }
}

/** As many first bytes as `containerOf` looks at. */
const headBytes = 1024;
/** An image is accepted without a look at it when the storage does not answer in time. */
const lookTimeoutMs = 1000;

/** @throws KnownProblem `invalid_request` for a source that is empty, or that its first bytes show to be a video */
async function refuseNoImage(source: ObjectStore, key: string): Promise<void> {
  const looking = new AbortController();
  const timer = setTimeout(() => looking.abort(), lookTimeoutMs);
  const look = source.readStart(key, headBytes, { signal: looking.signal, attemptsMax: 1 });
  // A storage that is away delays the job alone.
  const head = await look.catch(() => null).finally(() => clearTimeout(timer));
  if (head === null) return;
  if (head.length === 0) throw emptySource;
  const container = imageKindOf(head) === null ? containerOf(head) : null;
  if (container === null) return;
  const detail = `is not an image: its first bytes are those of ${container}; a video:cover makes an image of a video`;
  throw refusal('source_unsupported', detail);
}

/** Callers that are used to other services give a URL. */
function missingSource(source: string): string {
  const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(source);
  const advice = ': it is a URL, so give the object key alone, without scheme and bucket';
  return `${JSON.stringify(source)} does not exist in the source bucket${isUrl ? advice : ''}`;
}

/** The code of each fault of a source, and of the problem that it makes. */
const problemOfFault = {
  source_missing: 'source_missing',
  source_too_large: 'source_too_large',
  source_empty: 'invalid_request',
  source_unsupported: 'invalid_request',
} as const;

function refusal(code: keyof typeof problemOfFault, detail: string): KnownProblem {
  return new KnownProblem(problemOfFault[code], undefined, { faults: [{ pointer: '/source', code, detail }] });
}

const emptySource = refusal('source_empty', 'is an empty object (0 bytes); upload it again');
