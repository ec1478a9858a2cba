import type { Condition } from '#domain/kubernetes/custom-resource.ts';
import type { Rollout, RolloutStatus } from '#domain/rollouts/rollout.ts';

/** Whether a MediaRollout was made a rollout, and why not. */
export interface Acceptance {
  readonly rollout: Rollout | null;
  readonly reason: 'Accepted' | 'Invalid' | 'SpecChanged';
  readonly message: string;
}

type ConditionType = 'Accepted' | 'Succeeded' | 'Failed';
type Fields = Pick<Condition, 'status' | 'reason' | 'message'>;

/**
 * The meaning of each status of a rollout for whoever waits for it. A rollout that is rolled back or cancelled has
 * failed as soon as that begins: a pipeline needs not wait until the last earlier stream plays again.
 */
const outcomes = {
  canary: { ends: null, reason: 'Canary' },
  running: { ends: null, reason: 'Running' },
  cancelling: { ends: 'Failed', reason: 'Cancelled' },
  rolling_back: { ends: 'Failed', reason: 'RolledBack' },
  completed: { ends: 'Succeeded', reason: 'Completed' },
  cancelled: { ends: 'Failed', reason: 'Cancelled' },
  rolled_back: { ends: 'Failed', reason: 'RolledBack' },
} as const satisfies Record<RolloutStatus, { ends: ConditionType | null; reason: string }>;

const messageLengthMax = 2_000;

/** The conditions of a MediaRollout: `Accepted`, and `Succeeded` or `Failed` once it is known how it ends. */
export function rolloutConditions({ rollout, reason, message }: Acceptance): Readonly<Record<ConditionType, Fields>> {
  const isRefused = rollout === null && reason === 'Invalid';
  const outcome = rollout === null ? { ends: isRefused ? 'Failed' : null, reason } : outcomes[rollout.status];
  const why = isRefused ? message : (rollout?.reason ?? '');
  return {
    Accepted: fieldsOf(reason === 'Accepted', reason, message),
    Succeeded: fieldsOf(outcome.ends === 'Succeeded', outcome.reason, outcome.ends === 'Succeeded' ? why : ''),
    Failed: fieldsOf(outcome.ends === 'Failed', outcome.reason, outcome.ends === 'Failed' ? why : ''),
  };
}

function fieldsOf(holds: boolean, reason: string, message: string): Fields {
  return { status: holds ? 'True' : 'False', reason, message: message.slice(0, messageLengthMax) };
}
