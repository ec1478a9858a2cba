import { judgeCanary } from '#domain/rollouts/gate.ts';
import { isBeginning, type Rollout, totalOf } from '#domain/rollouts/rollout.ts';
import { beginReruns, submitNamed, waitedMs } from './begin-reruns.ts';
import type { RolloutDependencies } from './dependencies.ts';
import { cancelRunning, giveWay, rollBackDone } from './roll-back.ts';
import { settleEnded } from './settle.ts';

const pageSize = 500;
/** So that other rollouts have their turn, and the claim of this one holds. */
const planningMs = 2_000;

/**
 * One round of a rollout. Each of its writes may be repeated, and whatever a crash leaves is found by the next round:
 * an item is chosen once (primary key), names its job before the job is made, and counts as running until the job's
 * row says how it ended.
 */
export async function advanceRollout(id: string, dependencies: RolloutDependencies, signal: AbortSignal) {
  const rollout = await dependencies.rollouts.find(id);
  if (rollout === null) return;
  await settleEnded(rollout, dependencies, signal);
  await submitNamed(rollout, dependencies);
  if (rollout.status === 'cancelling' || rollout.status === 'rolling_back')
    return endRollout(rollout, dependencies, signal);
  if (!isBeginning(rollout)) return;
  const { isStorageAway } = dependencies;
  if (!isStorageAway()) await giveWay(rollout, dependencies, waitedMs);
  if (!rollout.isPlanned) await plan(rollout, dependencies, signal);
  await decide(id, dependencies);
  const now = await dependencies.rollouts.find(id);
  if (now !== null && !now.isPaused && !isStorageAway()) await beginReruns(now, dependencies, signal);
}

async function plan({ id }: Rollout, { rollouts }: RolloutDependencies, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + planningMs;
  while (!signal.aborted && performance.now() < deadline && (await rollouts.items.planPage(id, pageSize)));
}

/** The end of the canary, or of the rollout, once every media was looked at. */
async function decide(id: string, { rollouts, log }: Pick<RolloutDependencies, 'rollouts' | 'log'>): Promise<void> {
  const rollout = await rollouts.find(id);
  if (rollout === null || !rollout.isPlanned) return;
  const { status, spec, canary } = rollout;
  if (status === 'canary' && spec.canary !== undefined) {
    const verdict = judgeCanary(spec.canary, canary);
    if (verdict === null) return;
    if (!verdict.passed) {
      const reason = `The canary failed: ${verdict.failures.join('; ')}.`;
      if (await rollouts.move(id, 'rolling_back', { reason, verdict }))
        log.warn({ rollout_id: id, failures: verdict.failures }, 'rollout canary failed');
      return;
    }
    if (await rollouts.move(id, 'running', { verdict })) log.info({ rollout_id: id }, 'rollout canary passed');
    return decide(id, { rollouts, log });
  }
  const { planned, running, done, failed } = totalOf(rollout);
  if (status === 'running' && planned + running === 0 && (await rollouts.move(id, 'completed')))
    log.info({ rollout_id: id, done, failed }, 'rollout completed');
}

/** Cancels what runs, and then rolls back what was made where that was asked for. */
async function endRollout(rollout: Rollout, dependencies: RolloutDependencies, signal: AbortSignal): Promise<void> {
  const { rollouts, log } = dependencies;
  const { id, status } = rollout;
  await cancelRunning(rollout, dependencies);
  await settleEnded(rollout, dependencies, signal);
  if (status === 'rolling_back') await rollBackDone(rollout, dependencies, signal);
  const now = await rollouts.find(id);
  if (now === null || now.status !== status) return;
  const { running, done, rolled_back: rolledBack, kept } = totalOf(now);
  if (running > 0 || (status === 'rolling_back' && done > 0)) return;
  if (status === 'cancelling' && (await rollouts.move(id, 'cancelled')))
    log.info({ rollout_id: id, done }, 'rollout cancelled');
  if (status === 'rolling_back' && (await rollouts.move(id, 'rolled_back')))
    log.info({ rollout_id: id, rolled_back: rolledBack, kept }, 'rollout rolled back');
}
