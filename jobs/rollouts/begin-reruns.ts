import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { rolloutPriority } from '#domain/jobs/ticket.ts';
import { isBeginning, rerunReasonOf, type Rollout } from '#domain/rollouts/rollout.ts';
import { scoreOf } from '#domain/rollouts/score.ts';
import { defaultDocument, type NamedProfile } from '#domain/media/profiles.ts';
import type { BegunItem } from '#platform/postgres/rollout-item-store.ts';
import { makeRerun } from '../submission/rerun.ts';
import type { RolloutDependencies } from './dependencies.ts';
import { cancelUnlessEnded } from './roll-back.ts';

const defaultProfile: NamedProfile = { ...defaultDocument, name: 'default' };
/** While another rerun of the same request is active, or its source cannot be measured. */
const retryMs = 30_000;

/** In a round: more may be skipped than run. */
const begunMax = 1_000;

/** Begins reruns until the budget is used, or nothing is planned. */
export async function beginReruns(rollout: Rollout, dependencies: RolloutDependencies, signal: AbortSignal) {
  const { rollouts, randomUuid } = dependencies;
  const { items } = rollouts;
  if (!(await hasHours(rollout, dependencies))) return;
  const takenSlots = (await rollouts.slots.waitingSubmissions(waitedMs)).map(({ slots }) => slots);
  for (let begun = 0; begun < begunMax && !signal.aborted; begun++) {
    const item = await items.begin(rollout.id, randomUuid(), takenSlots);
    if (item === null) return;
    await submit(item, rollout, dependencies);
  }
}

/** Submissions that wait this long for a slot come before a rollout. */
export const waitedMs = 2_000;

async function hasHours({ id, spec, hoursToday }: Rollout, { rollouts }: RolloutDependencies): Promise<boolean> {
  const { hours_per_day: max } = spec.budget;
  return max === undefined || hoursToday + (await rollouts.items.runningSeconds(id)) / 3600 < max;
}

/** Submits reruns that were named before a crash, or that were delayed. */
export async function submitNamed(rollout: Rollout, dependencies: RolloutDependencies): Promise<void> {
  for (const item of await dependencies.rollouts.items.unsubmitted(rollout.id, 100))
    await submit(item, rollout, dependencies);
}

/**
 * Makes the rerun that an item names, by its id: a crash before its row leaves the name, and the next round comes here
 * again; one after it leaves a job that is found by the id. An item whose rerun cannot be made delays no other.
 */
async function submit(item: BegunItem, rollout: Rollout, dependencies: RolloutDependencies): Promise<void> {
  const { rollouts, log } = dependencies;
  const { items } = rollouts;
  const { hash } = item;
  const end = (to: 'skipped' | 'failed', reason: string) =>
    items.move(rollout.id, hash, { from: 'running', to, reason });
  try {
    const isThere = (await dependencies.jobs.find(item.jobId)) !== null;
    if (!isThere) {
      if (!isBeginning(rollout)) return await items.move(rollout.id, hash, { from: 'running', to: 'planned' });
      const reason = await skipReason(item, dependencies);
      if (reason !== null) return await end('skipped', reason);
      if (!(await rerun(item, rollout, dependencies))) return await items.delay(rollout.id, hash, retryMs);
    }
    const before = await items.made(item.earlierJobId);
    const score = scoreOf(before?.results ?? null);
    const isNoted = await items.noteSubmitted(rollout.id, item, { bytes: before?.bytes ?? null, score });
    // The rollout was ended meanwhile by another worker, which took the rerun for one that is not there.
    if (!isNoted) await cancelUnlessEnded(item.jobId, dependencies);
  } catch (error) {
    if (error instanceof KnownProblem && !isJobProblem(error)) return end('failed', error.message);
    log.warn({ err: error, rollout_id: rollout.id, hash }, 'rollout item not submitted');
    await items.delay(rollout.id, hash, retryMs).catch(() => undefined);
  }
}

/** Why a media that was chosen is not made again now. */
async function skipReason(
  { hash, earlierJobId }: BegunItem,
  { rollouts }: RolloutDependencies,
): Promise<string | null> {
  const { isDeleted, legalHold, isSubmitted, streamJobId } = await rollouts.items.mediaNow(hash);
  if (isDeleted) return 'deleted';
  if (legalHold) return 'legal_hold';
  if (isSubmitted) return 'submitted';
  return streamJobId === earlierJobId ? null : 'replaced';
}

/** False when another rerun of the same request is active: it may make another stream than this one would. */
async function rerun(
  item: BegunItem,
  { id, profile, keyId }: Rollout,
  dependencies: RolloutDependencies,
): Promise<boolean> {
  const { job } = await makeRerun(dependencies, item.earlierJobId, {
    rerun: {
      id: item.jobId,
      replaces: item.earlierJobId,
      reason: rerunReasonOf(id),
      profile: profile ?? defaultProfile,
      priority: rolloutPriority,
      ...(keyId === null ? {} : { keyId }),
    },
    trace: null,
  });
  return job.id === item.jobId;
}
