import { KnownProblem } from '#domain/errors.ts';
import type { Rollout } from '#domain/rollouts/rollout.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';

/** The changes that a caller may ask of a rollout. */
export const rolloutActions = ['pause', 'resume', 'rollback', 'cancel'] as const;
export type RolloutAction = (typeof rolloutActions)[number];

type Rows = Pick<RolloutStore, 'find' | 'setPaused' | 'move'>;

const change: Readonly<Record<RolloutAction, (rollouts: Rows, id: string) => Promise<boolean>>> = {
  pause: (rollouts, id) => rollouts.setPaused(id, true),
  resume: (rollouts, id) => rollouts.setPaused(id, false),
  rollback: (rollouts, id) => rollouts.move(id, 'rolling_back', { reason: 'It was asked to roll back.' }),
  cancel: (rollouts, id) => rollouts.move(id, 'cancelling', { reason: 'It was cancelled.' }),
};

/** The statuses in which an action is done already. */
const isDone: Readonly<Record<RolloutAction, readonly Rollout['status'][]>> = {
  pause: [],
  resume: [],
  rollback: ['rolling_back', 'rolled_back'],
  cancel: ['cancelling', 'cancelled'],
};

/**
 * Changes a rollout's row; a worker does the rest. Repeating it changes nothing.
 *
 * @throws KnownProblem `not_found`; `conflict` in a status that does not allow it
 */
export async function changeRollout(rollouts: Rows, id: string, action: RolloutAction): Promise<Rollout> {
  const before = await rollouts.find(id);
  if (before === null) throw unknownRollout;
  const isChanged = await change[action](rollouts, before.id);
  const after = (await rollouts.find(before.id)) ?? before;
  if (isChanged || isDone[action].includes(after.status)) return after;
  throw new KnownProblem('conflict', `The rollout is ${after.status}; ${action} is not possible then.`);
}

/** There is no rollout of an id. */
export const unknownRollout = new KnownProblem('not_found', 'There is no such rollout.');
