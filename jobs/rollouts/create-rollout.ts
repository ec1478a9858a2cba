import { KnownProblem } from '#domain/errors.ts';
import { type NamedProfile, profileDigest } from '#domain/media/profiles.ts';
import type { Rollout, RolloutSpec } from '#domain/rollouts/rollout.ts';
import type { NewRollout, RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { PreflightDependencies } from '../submission/preflight.ts';
import { profileOrRefusal } from '../submission/rerun.ts';

type ProfileDependencies = Pick<PreflightDependencies, 'profiles' | 'config'>;

export type CreateRolloutDependencies = ProfileDependencies & {
  readonly rollouts: Pick<RolloutStore, 'insert'>;
};

/**
 * Begins a rollout. Its profile is the one that has the name now: a later change of it needs another rollout, so that
 * a canary speaks for the rest.
 *
 * @throws KnownProblem what `rolloutProfile` throws
 */
export async function createRollout(
  { rollouts, ...dependencies }: CreateRolloutDependencies,
  { spec, ...asked }: Omit<NewRollout, 'profile'>,
): Promise<{ rollout: Rollout; isNew: boolean }> {
  return rollouts.insert({ ...asked, spec, profile: await rolloutProfile(spec, dependencies) });
}

/**
 * The profile of a rollout, as it is now; null for one that makes streams as the built-in `default` does.
 *
 * @throws KnownProblem `invalid_request` for a profile that does not exist, or that measures no score for `min_score`
 */
export async function rolloutProfile(
  { to_profile: name, canary }: RolloutSpec,
  dependencies: ProfileDependencies,
): Promise<NamedProfile | null> {
  const named = await profileOrRefusal(name, dependencies, '/to_profile');
  if (canary?.min_score !== undefined && named.quality === undefined) {
    const detail = `needs a profile that measures scores: give ${name} a \`quality\`, or leave this out`;
    throw new KnownProblem('invalid_request', undefined, {
      faults: [{ pointer: '/canary/min_score', code: 'no_score', detail }],
    });
  }
  return profileDigest(named) === null ? null : named;
}
