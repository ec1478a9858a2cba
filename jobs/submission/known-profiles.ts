import type { PreflightDependencies } from './preflight.ts';
import {
  builtInMediaProfiles,
  digestOf,
  type MediaProfiles,
  type NamedProfile,
  type ProfileOrigin,
} from '#domain/media/profiles.ts';
import { currentProfiles } from './preflight.ts';

/** A profile that jobs may get now. */
export interface KnownProfile {
  readonly profile: NamedProfile;
  readonly origin: ProfileOrigin;
}

/** The profiles of the service, its configuration and the cluster, by name, and the rules that choose one of them. */
export async function knownProfiles(
  dependencies: Pick<PreflightDependencies, 'profiles' | 'config'>,
): Promise<{ readonly profiles: readonly KnownProfile[] } & Pick<MediaProfiles, 'rules'>> {
  const [{ byName, rules }, cluster] = await Promise.all([currentProfiles(dependencies), dependencies.profiles.read()]);
  const ofCluster = new Set(cluster.map(({ profile }) => profile.name));
  const originOf = (profile: NamedProfile): ProfileOrigin => {
    if (ofCluster.has(profile.name)) return 'cluster';
    const own = builtInMediaProfiles.byName.get(profile.name);
    return own !== undefined && digestOf(own) === digestOf(profile) ? 'built_in' : 'configuration';
  };
  const profiles = [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { profiles: profiles.map((profile) => ({ profile, origin: originOf(profile) })), rules };
}
