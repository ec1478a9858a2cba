import type { Rollout } from '#domain/rollouts/rollout.ts';
import { scoreOf } from '#domain/rollouts/score.ts';
import type { EndedItem, ItemMove } from '#platform/postgres/rollout-item-store.ts';
import type { RolloutDependencies } from './dependencies.ts';

const pageSize = 50;

/** Records what became of reruns that have ended. An item that cannot be recorded is due in the next round. */
export async function settleEnded(rollout: Rollout, { rollouts, log }: RolloutDependencies, signal: AbortSignal) {
  const { items } = rollouts;
  for (let goesOn = true; goesOn && !signal.aborted;) {
    const ended = await items.ended(rollout.id, pageSize);
    let failures = 0;
    for (const item of ended) {
      await items.move(rollout.id, item.hash, moveOf(item)).catch((error: unknown) => {
        failures += 1;
        log.warn({ err: error, rollout_id: rollout.id, hash: item.hash }, 'rollout item not recorded');
      });
    }
    goesOn = ended.length === pageSize && failures === 0;
  }
}

/** How an item goes on after its job. */
export function moveOf({ job, gaveWay }: EndedItem): ItemMove {
  const from = 'running';
  if (job === null) return { from, to: 'failed', reason: 'the job was deleted' };
  const { seconds } = job;
  if (job.status === 'completed' && !job.isPlayed) return { from, to: 'skipped', reason: 'replaced', seconds };
  if (job.status === 'completed') return { from, to: 'done', bytes: job.bytes, score: scoreOf(job.results), seconds };
  if (job.status === 'cancelled' && gaveWay) return { from, to: 'planned', reason: 'gave_way', seconds };
  return { from, to: 'failed', reason: job.error?.code ?? job.status, seconds };
}
