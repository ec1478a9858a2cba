import { profileDigest } from '#domain/media/profiles.ts';
import type { Rollout } from '#domain/rollouts/rollout.ts';
import type { NewRollout, RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { PreflightDependencies } from '../submission/preflight.ts';
import { profileOrRefusal } from '../submission/rerun.ts';

export type CreateRolloutDependencies = Pick<PreflightDependencies, 'profiles' | 'config'> & {
  readonly rollouts: Pick<RolloutStore, 'insert'>;
};

/**
 * Begins a rollout. Its profile is the one that has the name now: a later change of it needs another rollout, so that
 * a canary speaks for the rest.
 *
 * @throws KnownProblem `invalid_request` for a profile that does not exist
 */
export async function createRollout(
  { rollouts, ...dependencies }: CreateRolloutDependencies,
  { spec, ...asked }: Omit<NewRollout, 'profile'>,
): Promise<{ rollout: Rollout; isNew: boolean }> {
  const named = await profileOrRefusal(spec.to_profile, dependencies, '/to_profile');
  return rollouts.insert({ ...asked, spec, profile: profileDigest(named) === null ? null : named });
}
