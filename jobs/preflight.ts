import { KnownProblem } from '#domain/errors.ts';
import { type JobType, jobTypes } from '#domain/job-types/index.ts';
import { type QueueName, queueOfSize } from '#domain/jobs/routing.ts';
import { withClusterProfiles } from '#domain/media/cluster-profiles.ts';
import { chooseProfile, type MediaProfiles, type NamedProfile, profileDigest } from '#domain/media/profiles.ts';
import type { JobDependencies } from './dependencies.ts';

/** What is known of a job's source before it is accepted; sizes in bytes, null for types without a preflight. */
export interface Preflight {
  readonly queue: QueueName;
  readonly sourceSizeBytes: number | null;
  readonly sourceEtag: string | null;
  /** Null: the built-in profile `default`, or the type makes no stream. */
  readonly profile: NamedProfile | null;
}

/** What a preflight reads. */
export type PreflightDependencies = Pick<JobDependencies, 'source' | 'config' | 'profiles'>;

/**
 * Looks at a video's source before its job is accepted (docs/contract.md, section 4): it must be there, its
 * measured size must not exceed `MAX_FILE_SIZE`, and that size chooses the queue and, with the key, the profile.
 *
 * @throws KnownProblem `source_missing`, `source_too_large`
 */
export async function preflight(
  dependencies: PreflightDependencies,
  job: { type: JobType; source: string },
): Promise<Preflight> {
  if (!jobTypes[job.type].hasPreflight)
    return { queue: 'default', sourceSizeBytes: null, sourceEtag: null, profile: null };
  const { source, config } = dependencies;
  const [info, profiles] = await Promise.all([
    source.head(job.source),
    jobTypes[job.type].makesStream ? currentProfiles(dependencies) : null,
  ]);
  if (info === null) throw refusal('source_missing', missingSource(job.source));
  if (info.sizeBytes > config.maxFileSizeBytes)
    throw refusal('source_too_large', `is ${info.sizeBytes} bytes; at most ${config.maxFileSizeBytes} are accepted`);
  return {
    queue: queueOfSize(info.sizeBytes, config.largeVideoThresholdBytes),
    sourceSizeBytes: info.sizeBytes,
    sourceEtag: info.etag,
    profile:
      profiles === null
        ? null
        : profileFor(job.type, chooseProfile(profiles, { key: job.source, sizeBytes: info.sizeBytes })),
  };
}

/** The profiles of the configuration and of the cluster, as they are now. */
export async function currentProfiles({
  profiles,
  config,
}: Pick<JobDependencies, 'profiles' | 'config'>): Promise<MediaProfiles> {
  return withClusterProfiles(config.mediaProfiles, await profiles.read());
}

/** What a job of `type` stores of a profile: nothing where it makes no stream, or where the profile changes nothing. */
export function profileFor(type: JobType, profile: NamedProfile | null): NamedProfile | null {
  return profile !== null && jobTypes[type].makesStream && profileDigest(profile) !== null ? profile : null;
}

/** Callers that are used to other services give a URL. */
function missingSource(source: string): string {
  const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(source);
  const advice = ': it is a URL, so give the object key alone, without scheme and bucket';
  return `does not exist in the source bucket${isUrl ? advice : ''}`;
}

function refusal(code: 'source_missing' | 'source_too_large', detail: string): KnownProblem {
  return new KnownProblem(code, undefined, { faults: [{ pointer: '/source', code, detail }] });
}
